"""What does the self-sizing proposal leave open, and how is each point decided here?

BigMoeOnEdge#103 fixes the legal budgets, the opening budget of one cycle, the gain (Δhit of one more cycle) and what it
is weighed against. Each point it does not fix is one field of `Decisions`, with the choices there are. The defaults are
this project's; `LITERAL` takes the proposal's words at their face. docs/self-sizing.md compares them on recorded data.
"""

from __future__ import annotations

from dataclasses import dataclass

CHOICES = {
    "gain": ("step", "hull"),
    "io_time": ("waited", "lane-summed"),
    "cost": ("compute", "compute+faults", "faults", "compute+management"),
    "check_off": ("forecast", "measure"),
}
"""The fields whose value is a word, and the words each may be."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The open points.

    Args:
        gain: what one more cycle is worth. "step": its own Δhit, as proposed. "hull": the slope there of the least
            concave majorant of the curve, so that a poor cycle before a good one does not stop the growth.
        io_time: the time that bandwidth is taken from. "waited": what tokens waited. "lane-summed": the engine's
            `io_ms`, which under overlap adds up all lanes and so overstates what a hit saves by up to their number.
        cost: what is compared before and after a step. "compute": the engine's compute time, which holds the time
            lost to faults already. "compute+faults": faults * ms_per_fault on top, as the sketch writes it.
            "faults": that product alone, blind to everything else. "compute+management": the engine's own time for
            managing the cache as well, which is 0 with the cache off.
        ms_per_fault: price of a fault where `cost` needs one (0.0441: the slope the proposal's 11.5 % stands on).
        check_off: when the cache is tried off, once the second cycle has been refused. "forecast": if the refused
            cycle cost more than the first one gains (right where faults grow at least in proportion). "measure":
            always.
        noise_share: how far the compute time of one token scatters; a change of cost below
            noise_share / sqrt(tokens) of it counts as none. 0.4 = 2 * sqrt(3) * 0.115: two turns apart, evenly
            distributed, at the spread of one token in a calm recorded run
            (docs/bench-data/2026-07-17/gpt_c2000_l8_k2).
        least_tokens: a turn of fewer decode tokens measures nothing and changes nothing.
        settle_turns: a step is judged once the cache is full, at the latest after so many measured turns: before
            that its memory has not been taken. A cache that is not full does not grow.
        retry_after_turns: turns after which a refused cycle is tried again; doubled with every refusal of it. 0 is
            never.

    What has only one answer and no field: the cost of a step is that of the first turn in which it can be judged less
    that of the last turn before it, so nothing older than one step is compared. A step that is kept forecasts the cost
    of the next. A turn that reads nothing has no bandwidth: the last one known stays. When k changes, the budget in
    bytes is floored to whole cycles of the new demand, at least one if the cache was on, and everything measured is
    forgotten. Nothing is decided before there is a sample. Growth that comes to rest on a cycle whose cost was never
    measured (the opening one, where the second gains nothing or nothing had to be read) goes without it for one turn.

    Raises:
        ValueError: a choice that does not exist or a number out of range.
    """

    gain: str = "step"
    io_time: str = "waited"
    cost: str = "compute"
    ms_per_fault: float = 0.0441
    check_off: str = "forecast"
    noise_share: float = 0.4
    least_tokens: int = 4
    settle_turns: int = 4
    retry_after_turns: int = 8

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} is one of {', '.join(choices)}, not {getattr(self, name)}"
                )
        if not (self.ms_per_fault >= 0 and self.noise_share >= 0):
            raise ValueError("ms_per_fault and noise_share are 0 or more")
        if self.least_tokens < 1 or self.settle_turns < 1 or self.retry_after_turns < 0:
            raise ValueError("least_tokens and settle_turns are 1 or more, retry_after_turns 0")


LITERAL = Decisions(io_time="lane-summed", cost="compute+faults")
"""The proposal's formula with the engine's columns as they are named."""
