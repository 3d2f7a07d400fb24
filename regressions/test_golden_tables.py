"""Are the golden tables well formed, and does a wrong cell show?

Needs no recorded runs: a table's own cells stand in for the measurement.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from gate.golden.comparison import compare, reproduced_claims
from gate.golden.definitions import DEFINITIONS
from gate.golden.sources import SAMPLES
from gate.golden.table import Cell, Column, Table, half_unit
from gate.golden.table_file import load_all

TABLES = load_all()
EPSILON = Fraction(1, 10**15)
MOST_TRIED = 60

every_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.id)


def own_rows(table: Table) -> list[dict[str, Cell]]:
    """The cells that `table` asserts, as if they had been measured."""
    return [
        {
            **{name: row.cells[name] for name in table.key_names},
            **{
                name: cell
                for name, cell in table.asserted_cells(row).items()
                if name not in table.key_names
            },
        }
        for row in table.rows
    ]


def tried(table: Table) -> list[tuple[int, dict[str, Cell]]]:
    """The rows to move a cell in, by number: all, or of a long table every so many-th.

    Each is compared with the whole table, so the cost grows with the square of its length.
    """
    return list(enumerate(own_rows(table)))[:: 1 + len(table.rows) // MOST_TRIED]


def moved(cell: Cell, column: Column, *, beyond: bool) -> Cell:
    """The cell at the end of its tolerance, or just beyond."""
    if isinstance(cell, str):
        return cell + "x" if beyond else cell
    return Fraction(cell) + column.tolerance + (EPSILON if beyond else 0)


def test_there_is_a_table_for_every_question_of_the_proposal() -> None:
    """All definitions are used, and no table names one that does not exist."""
    assert {table.definition for table in TABLES} - set(SAMPLES) == set(DEFINITIONS)


@every_table
def test_a_table_agrees_with_itself(table: Table) -> None:
    """A measurement of exactly the printed cells shows no difference."""
    assert compare(table, own_rows(table)) == []


@every_table
def test_a_cell_at_the_end_of_its_tolerance_agrees(table: Table) -> None:
    """The tolerance itself still prints as the cell, in every column."""
    for at, row in tried(table):
        for column in table.value_columns:
            if column.name in row:
                rows = own_rows(table)
                rows[at][column.name] = moved(row[column.name], column, beyond=False)
                assert compare(table, rows) == []


@every_table
def test_a_cell_beyond_its_tolerance_is_the_one_difference(table: Table) -> None:
    """Each single cell off by its tolerance and a little more is found, and nothing else is."""
    for at, row in tried(table):
        for column in table.value_columns:
            if column.name in row:
                rows = own_rows(table)
                rows[at][column.name] = moved(row[column.name], column, beyond=True)
                (found,) = compare(table, rows)
                assert found.column == column
                assert tuple(found.row.values()) == table.key(row)


@every_table
def test_a_missing_cell_or_row_and_an_additional_row_are_differences(table: Table) -> None:
    """A measurement has to fill the table, no less and no more."""
    rows = own_rows(table)
    assert len(compare(table, rows[1:])) == 1
    assert len(compare(table, [*rows, dict.fromkeys(table.key_names, "new")])) == 1
    present = next(column.name for column in table.value_columns if column.name in rows[0])
    del rows[0][present]
    (found,) = compare(table, rows)
    assert found.measured is None


@every_table
def test_an_undefined_measurement_does_not_agree(table: Table) -> None:
    """Not-a-number and infinity agree with no cell."""
    column = table.value_columns[-1]
    for undefined in (float("nan"), float("inf"), float("-inf")):
        rows = own_rows(table)
        at = next(at for at, row in enumerate(rows) if column.name in row)
        rows[at][column.name] = undefined
        assert len(compare(table, rows)) == 1


@every_table
def test_no_claim_is_what_was_measured(table: Table) -> None:
    """A stated cell differs from the measured one: a claim that comes out has to be asserted."""
    assert reproduced_claims(table, own_rows(table)) == []


def test_a_claim_that_comes_out_is_reported() -> None:
    """Were the prediction of 1814 MiB measured, the table would be told to assert it."""
    table = next(table for table in TABLES if table.id == "predicted-demand")
    rows = own_rows(table)
    rows[0]["token_demand_mib"] = Fraction(18144, 10)
    (claim,) = reproduced_claims(table, rows)
    assert claim == f"predicted-demand:{table.rows[0].line}: token_demand_mib"


def test_a_definition_must_give_each_row_once_and_known_columns() -> None:
    """A row given twice or a column that the table lacks is an error of the definition."""
    table = TABLES[0]
    rows = own_rows(table)
    with pytest.raises(ValueError, match="twice"):
        compare(table, [*rows, rows[0]])
    with pytest.raises(ValueError, match="no columns"):
        compare(table, [{**rows[0], "unheard_of": 1}])


def test_a_difference_says_where_how_much_and_in_tolerances() -> None:
    """A reader sees table, row, column, both values, unit, and the distance in tolerances."""
    table = next(table for table in TABLES if table.id == "token-demand")
    rows = own_rows(table)
    rows[3]["cycles"] = 4.46
    (found,) = compare(table, rows)
    assert str(found) == (
        "token-demand [model=Gemma-4-26B] cycles: "
        "expected 4.44, measured 4.46 cycles (4.00 tolerances)"
    )


def test_the_tolerance_of_printed_digits_is_half_a_unit_of_the_last() -> None:
    """Zero decimals give 1/2, three give 1/2000."""
    assert half_unit(0) == Fraction(1, 2)
    assert half_unit(3) == Fraction(1, 2000)
