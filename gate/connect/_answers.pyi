"""What does the optional C reader of answers offer? Its types; gate/connect/wire.py is its plain-Python twin."""

from reference.program import Answer

def read(
    line: str, answer: type[Answer], layout: str, counters: tuple[str, ...], /
) -> Answer | None:
    """The answer in one line, or None when it is not plainly one.

    `layout` has a letter for each result column: f refusal, h hit, b read, d digest, s resident, o order. `counters`
    names the columns behind them.
    """
