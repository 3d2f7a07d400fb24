"""Fits the numbers of fixtures/routing.toml to recorded traces, and measures how well the hit curve comes out.

    python benchmarks/fit_routing.py BENCH_DATA [MODEL ...]

The fit sees popularity and repeat-lag statistics alone; the curve is printed afterwards, at seeds it did not see.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from math import exp, log, tanh
from pathlib import Path

from fixtures.routing import NamedRouting, RoutingModel, named_routings, synthetic_trace
from fixtures.routing_statistics import routing_statistics
from reference.sizing import token_demand_bytes
from replay.curve import Curve
from replay.lookups import lookups_of, shape_of
from replay.traces import RouteTrace, read_route_trace

FIT_SEEDS = (101, 102, 103, 104)
CHECK_SEEDS = range(1, 9)
CYCLES = range(1, 9)
ROUNDS, EVALUATIONS = 3, 150

Point = list[float]


def main() -> None:
    """Fit the named models, or all, and print what goes into routing.toml."""
    folder = Path(sys.argv[1]) / "2026-07-15-route-trace"
    for id in sys.argv[2:] or named_routings():
        routing = named_routings()[id]
        trace = read_route_trace(folder / f"{routing.trace}.route.csv")
        fitted = fit(routing, routing_statistics(trace).numbers())
        print(id, fitted)
        show(replace(routing, numbers=fitted), trace)


def fit(routing: NamedRouting, target: list[float]) -> RoutingModel:
    """The numbers whose statistics, mean over FIT_SEEDS, lie nearest in the least-squares sense."""

    def distance(point: Point) -> float:
        if max(map(abs, point)) > 8:
            return float("inf")
        made = replace(routing, numbers=decode(point))
        found = [
            routing_statistics(synthetic_trace(made, seed=seed)).numbers() for seed in FIT_SEEDS
        ]
        means = [sum(column) / len(column) for column in zip(*found, strict=True)]
        return sum((mean - wanted) ** 2 for mean, wanted in zip(means, target, strict=True))

    point = [log(2.5), log(0.5), log(2.5), log(0.8), log(70), 0.0, 0.3, 0.7]
    for _ in range(ROUNDS):
        point = downhill(distance, point, EVALUATIONS)
    print(f"  distance {distance(point):.5f}")
    return decode(point)


def decode(point: Point) -> RoutingModel:
    """A point of the search space as numbers in their range, to three digits."""
    values = [exp(x) for x in point[:5]] + [tanh(point[5]), abs(point[6]), abs(point[7])]
    return RoutingModel(*(float(f"{value:.3g}") for value in values))


def downhill(function: Callable[[Point], float], start: Point, evaluations: int) -> Point:
    """Nelder and Mead's simplex search, in its plainest form."""
    points = [start, *([*start[:at], x + 0.4, *start[at + 1 :]] for at, x in enumerate(start))]
    simplex = sorted((function(point), point) for point in points)
    left = evaluations - len(simplex)
    while left > 0:
        worst = simplex[-1][1]
        centre = [sum(xs) / len(xs) for xs in zip(*(p for _, p in simplex[:-1]), strict=True)]

        def towards(factor: float, centre: Point = centre, worst: Point = worst) -> Point:
            return [c + factor * (c - w) for c, w in zip(centre, worst, strict=True)]

        tried = [(function(p), p) for p in [towards(1.0)]]
        if tried[0][0] < simplex[0][0]:
            tried += [(function(p), p) for p in [towards(2.0)]]
        elif tried[0][0] >= simplex[-2][0]:
            tried += [(function(p), p) for p in [towards(-0.5)]]
        left -= len(tried)
        if min(tried)[0] < simplex[-1][0]:
            simplex[-1] = min(tried)
        else:
            best = simplex[0][1]
            shrunk = [[(a + b) / 2 for a, b in zip(best, p, strict=True)] for _, p in simplex[1:]]
            simplex[1:] = [(function(p), p) for p in shrunk]
            left -= len(shrunk)
        simplex.sort()
    return simplex[0][1]


def show(routing: NamedRouting, trace: RouteTrace) -> None:
    """The recorded curve, and how far the made ones lie from it."""
    real = curve(trace)
    away = [
        [m - r for m, r in zip(curve(synthetic_trace(routing, seed=s)), real, strict=True)]
        for s in CHECK_SEEDS
    ]
    print("  recorded  ", *(f"{x:6.1f}" for x in real))
    print("  mean away ", *(f"{sum(c) / len(c):6.1f}" for c in zip(*away, strict=True)))
    print("  worst     ", *(f"{max(c, key=abs):6.1f}" for c in zip(*away, strict=True)))
    print("  by seed   ", *(f"{max(row, key=abs):6.1f}" for row in away))


def curve(trace: RouteTrace) -> list[float]:
    """Decode hit rate in percent at 1 to 8 cycles."""
    replayed, demand = Curve(lookups_of(trace), "lru"), token_demand_bytes(shape_of(trace))
    decode = [next(t for t in replayed.at(n * demand) if t.decode) for n in CYCLES]
    return [100 * tally.hits / tally.lookups for tally in decode]


if __name__ == "__main__":
    main()
