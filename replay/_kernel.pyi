"""What does the optional C kernel offer? Its types; replay/kernel.py says whether it is there.

Every array is contiguous, aligned and of native 64-bit integers, whatever object lends the buffer
(numpy, array.array, memoryview). Outputs may not overlap other arguments. Group i of an `offsets`
array is the half-open range offsets[i] to offsets[i + 1]; it starts at 0 and ends at the length of
what it divides. Whatever does not hold raises ValueError, and then no output has been written.
A call of any length can be stopped with Ctrl-C and lets other threads run.
"""

from typing_extensions import Buffer

def xxh3_64(keys: Buffer, seed: int, out: Buffer, /) -> None:
    """XXH3-64 of the 8 little-endian bytes of every key, into `out`, as long as `keys`."""

def distinct(ids: Buffer, offsets: Buffer, out_ids: Buffer, out_offsets: Buffer, /) -> int:
    """Each id once per gather, in order of first occurrence. Returns how many ids were written.

    `out_ids` has room for all ids, `out_offsets` is as long as `offsets`. A gather holds less than
    2^31 ids.
    """

def thresholds(
    keys: Buffer, touched: Buffer, offsets: Buffer, key_bytes: Buffer, out: Buffer, /
) -> None:
    """From which budget on each lookup of the expert cache hits; replay/thresholds.py has the rule.

    `keys` and `touched` are indices into `key_bytes`, divided into batches by `offsets`: what a
    batch looks up, each key once, and the same keys in order of last occurrence. `out` gets one
    item a lookup: bytes; 0 where the key was in the batch just before; 2^64-1 at a first touch.
    `key_bytes` are 0 or more each and add up to less than 2^63.
    """

class RowTable:
    """One table of a RowCache; fields as of reference.row_config.RowCacheConfig.

    `halve_every` 0 never halves. Raises MemoryError if the slots cannot be had.
    """

    def __new__(
        cls,
        *,
        sets: int,
        ways: int,
        candidate_sets: int,
        sketch_rows: int,
        sketch_width: int,
        halve_every: int,
        hash_seed: int,
        admission: bool,
        second_set_tie_second: bool,
        halve_after_gather: bool,
        tick_per_gather: bool,
        age_of_insert: bool,
        free_way_highest: bool,
        victim_tie_highest: bool,
    ) -> RowTable: ...
    def replay(self, rows: Buffer, offsets: Buffer, counts: Buffer, /) -> None:
        """Run gathers of distinct rows; `counts` gets replay.rows.COLUMNS numbers a gather.

        The table continues where the last call left it. After a stop by Ctrl-C, and while another
        thread is inside, every call raises ValueError.
        """

    def read_slots(self, rows: Buffer, ages: Buffer, /) -> None:
        """The row and last access of each slot, set after set, ways in order; age 0 is a free way."""
