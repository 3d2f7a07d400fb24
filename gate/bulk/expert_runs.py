"""What are very many small runs of an expert cache? Sequences of batches, each at several budgets, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from gate.bulk.expert_pass import Pass
from gate.bulk.sums import EXPERT_SUMS, Counted, Facts, Mask, broken
from reference.expert_config import ExpertConfig, Rules
from reference.program import DECODE, PREFILL, Begin, Load, Program
from reference.sizing import (
    ModelShape,
    token_demand_bytes,
    top_budget_bytes,
)
from reference.timeline import timeline
from replay import kernel
from replay.curve import Curve
from replay.gathers import Gathers
from replay.hashing import I64
from replay.lookups import Lookups, Segment
from replay.tally import added

CURVE = "curve"
"""The engine that makes a hit curve of each sequence on its own: replay/curve.py."""


@dataclass(frozen=True)
class ExpertRuns:
    """Some runs: each sequence of batches at each of its budgets, one sequence after the other.

    Args:
        rules, policy: of all of them; the policy is lru or layer.
        shapes: the model of each sequence.
        requests: the budgets asked for, in bytes; shape (sequences, budgets).
        starts: sequence s has the batches from starts[s] up to starts[s + 1].
        layer, decode: of each batch.
        batches: the expert ids of each, all of them experts of its layer, in routing order.
    """

    rules: Rules
    policy: str
    shapes: Sequence[ModelShape]
    requests: I64
    starts: I64
    layer: I64
    decode: Mask
    batches: Gathers

    @classmethod
    def of(cls, programs: Sequence[Program]) -> ExpertRuns:
        """The runs that programs make, all with the same rules and policy; what is no load is left out."""
        configs = [_config(program) for program in programs]
        layers: list[int] = []
        decode: list[bool] = []
        ids: list[tuple[int, ...]] = []
        starts = [0]
        for program in programs:
            for step in timeline(program):
                if step.is_load:
                    layers += [step.layer] * step.times
                    decode += [step.is_decode] * step.times
                    ids += [step.valid] * step.times
            starts.append(len(ids))
        return cls(
            configs[0].rules,
            configs[0].policy,
            [config.shape for config in configs],
            np.array([[config.budget_bytes] for config in configs], dtype=np.int64),
            np.array(starts),
            np.array(layers, dtype=np.int64),
            np.array(decode, dtype=bool),
            Gathers.of(ids),
        )

    def __len__(self) -> int:
        return int(self.requests.size)

    def programs(self) -> Iterator[Program]:
        """The runs as programs."""
        return map(self.program, range(len(self)))

    def program(self, run: int) -> Program:
        """One run as a program."""
        sequence, budget = divmod(run, self.requests.shape[1])
        request_bytes = int(self.requests[sequence, budget])
        config = ExpertConfig(self.shapes[sequence], request_bytes, self.policy, self.rules)
        first, last = self.starts[sequence : sequence + 2]
        return Program(config, (Begin(), *self._loads[first:last]))

    @cached_property
    def _loads(self) -> list[Load]:
        ids, offsets = self.batches.ids.tolist(), self.batches.offsets.tolist()
        phases = np.where(self.decode, DECODE, PREFILL).tolist()
        return [
            Load(layer, tuple(ids[start:end]), phase)
            for layer, phase, (start, end) in zip(
                self.layer.tolist(), phases, pairwise(offsets), strict=True
            )
        ]

    # --- judging ------------------------------------------------------------------------------------

    @staticmethod
    def engines() -> tuple[str, ...]:
        """What can count these runs, the one in use first."""
        return (*sorted(kernel.available(), key=kernel.engine_name().__ne__), CURVE)

    def counted(self, engine: str) -> Counted:
        """The counters of each run, by an engine of replay/thresholds.py or by replay/curve.py."""
        if engine == CURVE:
            return self._by_curve()
        passed = self._pass.thresholds(engine)
        columns = [
            passed.tallied(self._share[:, at], self.granted[:, at] > 0)
            for at in range(self.requests.shape[1])
        ]
        counted = {
            name: np.stack([column[name] for column in columns], axis=1).ravel()
            for name in columns[0]
        }
        return counted | {"budget_bytes": self.granted.ravel()}

    def _by_curve(self) -> Counted:
        found = []
        for sequence, granted in enumerate(self.granted.tolist()):
            curve = Curve(self._lookups(sequence), self.policy)
            found += [added(curve.at(budget_bytes)) for budget_bytes in granted]
        names = ("lookups", "hits", "read_bytes", "evictions", "rereads")
        return dict(zip(names, np.array(found, dtype=np.int64).T, strict=True))

    def _lookups(self, sequence: int) -> Lookups:
        """One sequence as a routing trace has it, in two turns."""
        first, last = self.starts[sequence : sequence + 2].tolist()
        found = Lookups(slices=max(1, len(self.shapes[sequence].moe_layers)))
        index: dict[tuple[int, int], int] = {}
        for at in range(first, last):
            start, end = self.batches.offsets[at : at + 2]
            layer = int(self.layer[at])
            ids = self.batches.ids[start:end].tolist()
            keys = [index.setdefault((layer, expert), len(index)) for expert in ids]
            found.key += dict.fromkeys(keys)
            found.touched += reversed(dict.fromkeys(reversed(keys)))
            found.offsets.append(len(found.key))
            found.layer.append(layer)
        found.key_layer = [layer for layer, _ in index]
        found.key_bytes = [self.shapes[sequence].entry_bytes[layer] for layer in found.key_layer]
        half = (last - first) // 2
        found.segments = [Segment(0, True, 0, half), Segment(1, True, half, last - first)]
        return found

    def broken(self, counted: Counted) -> Iterator[tuple[str, I64]]:
        """What does not add up, and in which runs."""
        return broken(EXPERT_SUMS, counted, self.facts)

    @cached_property
    def facts(self) -> Facts:
        """What is known of each run without any cache."""
        budgets = self.requests.shape[1]
        of_sequence = self._pass.facts | {"sequence": np.arange(len(self.shapes))}
        facts: Counted = {name: column.repeat(budgets) for name, column in of_sequence.items()}
        shares = self._share.T
        return facts | {
            "granted": self.granted.ravel(),
            "on": (self.granted.ravel() > 0).astype(np.int64),
            "most_bytes": np.stack([self._pass.most_bytes(share) for share in shares], 1).ravel(),
            "holds_all": np.stack([self._pass.holds_all(share) for share in shares], 1).ravel(),
        }

    @cached_property
    def _pass(self) -> Pass:
        sequence = np.repeat(np.arange(len(self.shapes)), np.diff(self.starts))
        return Pass(
            shapes=self.shapes,
            sequence=sequence,
            layer=self.layer,
            decode=self.decode,
            batches=self.batches,
            by_layer=self.policy == "layer",
        )

    @cached_property
    def granted(self) -> I64:
        """The budgets in force, in bytes; shape (sequences, budgets)."""
        if self.rules.budget == "bytes":
            return self.requests
        demand = np.array([token_demand_bytes(shape) for shape in self.shapes])[:, None]
        top = np.array([top_budget_bytes(shape) for shape in self.shapes])[:, None]
        granted: I64 = np.minimum(self.requests // np.maximum(demand, 1) * demand, top)
        return granted

    @cached_property
    def _share(self) -> I64:
        """What each recency list has of the budget."""
        if self.policy == "lru":
            return self.granted
        slices = np.array([max(1, len(shape.moe_layers)) for shape in self.shapes])
        share: I64 = self.granted // slices[:, None]
        return share


def _config(program: Program) -> ExpertConfig:
    assert isinstance(program.config, ExpertConfig)
    return program.config
