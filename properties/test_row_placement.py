"""Do rows fall into sets and sketch columns by the stated formula, and independently?"""

from __future__ import annotations

import xxhash
from hypothesis import given
from hypothesis import strategies as st

from reference.hashing import MASK64, mix
from reference.row_config import RowCacheConfig
from reference.row_placement import RowPlacement

U64 = st.integers(0, MASK64)


@given(row=U64, seed=U64, sets=st.integers(1, 1 << 40), width=st.integers(1, 1 << 20))
def test_places_follow_the_stated_formula(row: int, seed: int, sets: int, width: int) -> None:
    """Set, second set and four columns, each from the hash of the id by its own constant."""
    h = xxhash.xxh3_64_intdigest(row.to_bytes(8, "little"), seed)
    config = RowCacheConfig(
        sets=(sets,), candidate_sets=2, hash_seed=seed, sketch_width=width, sketch_rows=4
    )
    site = RowPlacement(config, sets).site(row)
    first, second = h % sets, mix(h ^ 0xA0761D6478BD642F) % sets
    assert site.sets == ((first,) if first == second else (first, second))
    assert site.columns == (
        mix(h ^ 0x9E3779B97F4A7C15) % width,
        mix(h ^ 0x3C6EF372FE94F82A) % width,
        mix(h ^ 0xDAA66D2C7DDF743F) % width,
        mix(h ^ 0x78DDE6E5FD29F054) % width,
    )


def test_rows_that_share_one_column_do_not_share_the_others() -> None:
    """ristretto#108: one row in 64 shares column 0 with row 0, none of 4,000 all four."""
    placement = RowPlacement(RowCacheConfig(sets=(1,), sketch_width=64), 1)
    zero = placement.site(0).columns
    others = [placement.site(row).columns for row in range(1, 4_000)]
    shared = [columns for columns in others if columns[0] == zero[0]]
    assert 30 < len(shared) < 100
    assert zero not in shared
    assert len({columns[1] for columns in shared}) > 20


def test_a_rows_two_sets_do_not_hang_together() -> None:
    """Rows that meet in their first set scatter over all others with their second."""
    config = RowCacheConfig(sets=(8,), candidate_sets=2)
    placement = RowPlacement(config, 8)
    pairs = [placement.site(row).sets for row in range(1_000)]
    assert {sets[-1] for sets in pairs if sets[0] == 0} == set(range(8))


@given(row=U64)
def test_a_table_without_sets_has_no_place(row: int) -> None:
    """No set for any row, hashed or injected; its sketch counts all the same."""
    config = RowCacheConfig(sets=(0,), injected_sets={row: (0,)})
    site = RowPlacement(config, 0).site(row)
    assert site.sets == ()
    assert len(site.columns) == 4
