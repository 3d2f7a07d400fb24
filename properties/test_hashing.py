"""Are the hashes of the reference the published ones, and the values of the store what they say?"""

from __future__ import annotations

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from reference.backing_store import digest, expert_key, row_key, value
from reference.hashing import MASK64, SplitMix64, mix, xxh3_64

U64 = st.integers(0, MASK64)


@given(key=U64, seed=U64 | st.integers(0, 20))
def test_xxh3_of_8_bytes_is_that_of_the_xxhash_package(key: int, seed: int) -> None:
    """Written out for 8 bytes, XXH3-64 gives what the xxhash package gives, for any seed."""
    assert xxh3_64(key, seed) == xxhash.xxh3_64_intdigest(key.to_bytes(8, "little"), seed)


@pytest.mark.parametrize("key", [0, 1, 1 << 31, 1 << 32, 1 << 63, MASK64])
def test_xxh3_holds_at_the_edges_of_the_words(key: int) -> None:
    """The two 32-bit halves are put together in the right order at every word's edge."""
    for seed in (0, 1, 1 << 31, 1 << 32, MASK64):
        assert xxh3_64(key, seed) == xxhash.xxh3_64_intdigest(key.to_bytes(8, "little"), seed)


def test_splitmix64_gives_its_published_first_numbers() -> None:
    """The first five draws from seed 1234567 are those that circulate with the generator."""
    draw = SplitMix64(1234567)
    assert [draw.next() for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@given(x=U64)
def test_the_finaliser_loses_nothing(x: int) -> None:
    """`mix` can be undone, so no two numbers share a result."""
    assert _unmix(mix(x)) == x


@given(key=U64)
def test_the_value_of_a_key_is_the_first_draw_seeded_with_it(key: int) -> None:
    """The backing store is splitmix64's first number: one line in any language."""
    assert value(key) == SplitMix64(key).next()


def test_the_store_has_known_values() -> None:
    """Three values and a digest to check a driver against."""
    assert value(0) == 0xE220A8397B1DCDAF
    assert value(1) == 0x910A2DEC89025CC1
    assert value(MASK64) == 0xE4D971771B652C20
    assert digest([value(0), value(1)]) == mix(mix(value(0)) ^ value(1))
    assert digest([]) == 0


@given(keys=st.lists(U64, min_size=2, max_size=2))
def test_a_digest_sees_order_and_length(keys: list[int]) -> None:
    """Swapping two different values, or dropping one, changes the digest."""
    first, second = map(value, keys)
    both = digest([first, second])
    assert (both == digest([second, first])) == (first == second)
    assert len({both, digest([first]), digest([first, second, first])}) == 3


def test_keys_of_experts_and_rows_do_not_collide_in_one_cache() -> None:
    """Layer and expert, table and row, each land in bits of their own."""
    assert expert_key(3, 5) == 0x0000_0003_0000_0005
    assert row_key(1, 7) == 0x0100_0000_0000_0007
    assert row_key(1, 1 << 63) == 0x8100_0000_0000_0000


def _unmix(x: int) -> int:
    """The inverse of the finaliser: the same steps backwards, with the factors' inverses."""
    x ^= x >> 31 ^ x >> 62
    x = x * pow(0x94D049BB133111EB, -1, 1 << 64) & MASK64
    x ^= x >> 27 ^ x >> 54
    x = x * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) & MASK64
    return x ^ x >> 30 ^ x >> 60
