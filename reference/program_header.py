"""The first lines of a program text: which cache, opened with which configuration. Both directions."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields

from reference.errors import printable
from reference.expert_config import Dropping, ExpertConfig, Rules
from reference.row_config import RowCacheConfig
from reference.sizing import ModelShape
from reference.text_line import Line

VERSION = "v1"
EXPERT_CACHE = "expert-cache"
ROW_CACHE = "row-cache"

RULE_KEYS = {
    "budget_rule": "budget",
    "resize_rule": "resize_in_generation",
    "zero_rule": "shrink_to_zero",
    "grow_rule": "grow",
    "failed_read_rule": "failed_read",
}
EXPERT_KEYS = (
    *("entry_bytes", "experts", "k", "budget_bytes", "policy"),
    *RULE_KEYS,
    *("drop_fraction", "drop_in_prefill"),
)
MAX_LAYERS = 1 << 12
"""Most layers of a program's model; real ones have less than a hundred."""

MAX_MESSAGE = 200
FRACTION = re.compile(r"\d{1,20}(\.\d{1,40})?(e-\d{1,3})?", re.ASCII)

PLACED = ("injected_sets", "injected_columns")
ROW_KEYS = tuple(field.name for field in fields(RowCacheConfig) if field.name not in PLACED)

Placed = dict[str, dict[int, tuple[int, ...]]]
"""What is injected, "sets" or "columns": row id to indices."""


def parse_header(lines: list[Line]) -> tuple[ExpertConfig | RowCacheConfig, list[Line]]:
    """The configuration in the first lines, and the lines that follow it.

    Raises:
        InputError: a setting that cannot be read, or a configuration that cannot be opened.
    """
    first, rest = lines[0], lines[1:]
    kind, values = _header(first)
    placed: Placed = {"sets": {}, "columns": {}}
    while kind == ROW_CACHE and rest and rest[0].peek() == "place":
        _placement(rest.pop(0), placed)
    try:
        config = _row_config(values, placed) if kind == ROW_CACHE else _expert_config(values)
    except ValueError as error:
        first.next = 0  # it is about the settings together
        problem = printable(str(error), MAX_MESSAGE)
        raise first.fail(problem, "a configuration that can be opened") from None
    return config, rest


def format_header(config: ExpertConfig | RowCacheConfig) -> list[str]:
    """The lines of a configuration; settings at their default are left out."""
    return _format_expert(config) if isinstance(config, ExpertConfig) else _format_row(config)


def _header(line: Line) -> tuple[str, dict[str, Value]]:
    kind = line.take("the kind of cache")
    if kind not in (EXPERT_CACHE, ROW_CACHE):
        raise line.fail(f"unknown cache {printable(kind)}", f"{EXPERT_CACHE} or {ROW_CACHE}")
    version = line.take("the version")
    if version != VERSION:
        raise line.fail(f"version {printable(version)} is not known", VERSION)
    known = EXPERT_KEYS if kind == EXPERT_CACHE else ROW_KEYS
    values: dict[str, Value] = {}
    for token in line.rest():
        key, equals, text = token.partition("=")
        if not equals or key not in known or key in values:
            what = "is given twice" if key in values else "is not a setting of this cache"
            raise line.fail(
                f"{printable(token)} {what}", f"KEY=VALUE, KEY one of {', '.join(known)}"
            )
        values[key] = Value(text, line, line.next)
    for key in ("entry_bytes",) if kind == EXPERT_CACHE else ("sets",):
        if key not in values:
            raise line.fail(f"{key} is missing", f"{key}=N,N,…")
    return kind, values


class Value:
    """The text of one setting, which knows where it stands."""

    def __init__(self, text: str, line: Line, after: int) -> None:
        self.text, self.line, self.after = text, line, after

    def _number(self, text: str) -> int:
        self.line.next = self.after
        return self.line.number_of(text, "a whole number", most=(1 << 64) - 1)

    def numbers(self) -> tuple[int, ...]:
        """Comma-separated numbers, one a layer or table; `-` is 0."""
        texts = self.text.split(",", MAX_LAYERS)
        if len(texts) > MAX_LAYERS:
            self.line.next = self.after
            raise self.line.fail("the list is too long", f"at most {MAX_LAYERS} numbers")
        return tuple(0 if text == "-" else self._number(text) for text in texts)

    def number(self) -> int:
        """One number."""
        return self._number(self.text)

    def fraction(self) -> float:
        """One decimal number."""
        if not FRACTION.fullmatch(self.text):
            self.line.next = self.after
            raise self.line.fail(f"{printable(self.text)} is not a number", "0 to 1")
        return float(self.text)

    def flag(self) -> bool:
        """yes or no."""
        if self.text not in ("yes", "no"):
            self.line.next = self.after
            raise self.line.fail(f"{printable(self.text)} is neither yes nor no", "yes or no")
        return self.text == "yes"


def _expert_config(values: dict[str, Value]) -> ExpertConfig:
    entry_bytes = values["entry_bytes"].numbers()
    experts = values["experts"].numbers() if "experts" in values else (1,)
    if len(experts) == 1:
        experts = experts * len(entry_bytes)
    rules = {RULE_KEYS[key]: value.text for key, value in values.items() if key in RULE_KEYS}
    policy = values["policy"].text if "policy" in values else "lru"
    if policy == "belady":
        raise ValueError("policy belady needs the future, which a program does not know")
    return ExpertConfig(
        ModelShape(entry_bytes, experts, values["k"].number() if "k" in values else 1),
        values["budget_bytes"].number() if "budget_bytes" in values else 0,
        policy,
        Rules(**rules),
        Dropping(
            values["drop_fraction"].fraction() if "drop_fraction" in values else 0.0,
            values["drop_in_prefill"].flag() if "drop_in_prefill" in values else False,
        ),
    )


def _row_config(values: dict[str, Value], placed: Placed) -> RowCacheConfig:
    read: dict[str, object] = {}
    for field in fields(RowCacheConfig):
        if field.name not in values:
            continue
        value, default = values[field.name], field.default
        if field.name == "sets":
            read["sets"] = value.numbers()
        elif isinstance(default, bool):
            read[field.name] = value.flag()
        elif field.name == "halve_every" or isinstance(default, int):
            read[field.name] = value.number()
        else:
            read[field.name] = value.text
    return RowCacheConfig(
        **read,  # type: ignore[arg-type]
        injected_sets=placed["sets"],
        injected_columns=placed["columns"],
    )


def _placement(line: Line, placed: Placed) -> None:
    line.take("place")
    row = line.integer("a row id")
    what = line.take("sets or columns")
    if what not in placed:
        raise line.fail(f"{printable(what)} cannot be placed", "sets or columns")
    placed[what][row] = tuple(line.number_of(token, "an index") for token in line.rest())


def _format_expert(config: ExpertConfig) -> list[str]:
    shape = config.shape
    sizes = ",".join(str(size) if size else "-" for size in shape.entry_bytes)
    same = len(set(shape.experts)) == 1
    experts = str(shape.experts[0]) if same else ",".join(map(str, shape.experts))
    settings = [f"entry_bytes={sizes}", f"experts={experts}", f"k={shape.k}"]
    settings.append(f"budget_bytes={config.budget_bytes}")
    if config.policy != "lru":
        settings.append(f"policy={config.policy}")
    for key, name in RULE_KEYS.items():
        if getattr(config.rules, name) != getattr(Rules(), name):
            settings.append(f"{key}={getattr(config.rules, name)}")
    if config.dropping.fraction:
        settings.append(f"drop_fraction={config.dropping.fraction!r}")
    if config.dropping.in_prefill:
        settings.append("drop_in_prefill=yes")
    return [" ".join([EXPERT_CACHE, VERSION, *settings])]


def _format_row(config: RowCacheConfig) -> list[str]:
    settings = [f"sets={','.join(map(str, config.sets))}"]
    for field in fields(RowCacheConfig):
        value = getattr(config, field.name)
        if field.name in PLACED or field.default is MISSING or value == field.default:
            continue
        settings.append(f"{field.name}={_format_setting(value)}")
    lines = [" ".join([ROW_CACHE, VERSION, *settings])]
    for what, placed in (("sets", config.injected_sets), ("columns", config.injected_columns)):
        lines += [f"place {row} {what} {' '.join(map(str, at))}" for row, at in placed.items()]
    return lines


def _format_setting(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
