"""The report as Markdown, fit for a CI step summary."""

from __future__ import annotations

from gate.report.model import Report
from gate.report.text import closing_lines, closing_verdict, verdict_matrix

MAX_FAILURES = 20


def to_markdown(report: Report) -> str:
    """Verdict, failures first, then the tables, folded where they are long."""
    parts = [f"# cachegate: {closing_verdict(report)}", ""]
    for failure in report.smallest_failures[:MAX_FAILURES]:
        parts += ["```", failure.text, "```", ""]
    if len(report.smallest_failures) > MAX_FAILURES:
        parts += [f"and {len(report.smallest_failures) - MAX_FAILURES} more laws", ""]
    for test, text in list(report.untold_tests.items())[:MAX_FAILURES]:
        parts += [f"`{test}`", "```", text[-4000:], "```", ""]
    parts += [f"- {line.strip()}" for line in closing_lines(report)]
    for cache in dict.fromkeys(one.cache for one in report.implementations):
        tested = [one for one in report.implementations if one.cache == cache]
        headings, rows = verdict_matrix(report, tested)
        parts += ["", f"<details><summary>{cache}: checks by law</summary>", ""]
        parts += [_row(headings), _row(["---"] * len(headings)), *map(_row, rows), "", "</details>"]
    settings = ", ".join(f"{name}={value}" for name, value in sorted(report.settings.items()))
    parts += ["", f"<details><summary>settings</summary>\n\n{settings}\n\n</details>", ""]
    return "\n".join(parts)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
