"""How many programs a second does a driver take, answers included?

    python benchmarks/transport.py [SECONDS]       to the C++ example, at every level, with one worker and with two

Programs of thirty decode batches over three layers, each sent, answered and read whole; SECONDS (default 2) a line.
`of it gate` is the CPU time of the gate for one program, `pipe` the share that is neither writing the message nor
reading the answers: system calls and waiting for the driver.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from fixtures.example_drivers import NoCompiler, build
from gate.connect.columns import Columns
from gate.connect.connecting import connect
from gate.connect.process import Process
from gate.connect.wire import Reading, encode
from reference.expert_config import ExpertConfig
from reference.program import Begin, Load, Program
from reference.sizing import ModelShape

BATCHES = 30
SHAPE = ModelShape((2, 3, 5), (6, 6, 6), 2)
PROGRAMS = 500
TARGET = 10_000


def programs(seed: int) -> list[Program]:
    """Different programs of thirty batches and the `begin` before them; the budget holds two cycles."""
    random = Random(seed)
    config = ExpertConfig(SHAPE, 40)
    return [
        Program(
            config,
            (Begin(), *(Load(at % 3, tuple(random.sample(range(6), 2))) for at in range(BATCHES))),
        )
        for _ in range(PROGRAMS)
    ]


def measure(task: tuple[str, float, int]) -> tuple[float, float, float]:
    """One worker: programs a second, the gate's CPU seconds a program, and those for coding alone."""
    command, seconds, seed = task
    tried = programs(seed)
    driver = connect(f"cmd:{command}", "expert-cache")
    assert isinstance(driver, Process)
    for program in tried[:100]:
        driver.run(program)
    done, start, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds:
        for program in tried[:100]:
            driver.run(program)
        done += 100
    rate = done / (time.perf_counter() - start)
    gate_s = (time.process_time() - cpu) / done
    coding_s = coding(driver, tried)
    driver.close()
    return rate, gate_s, coding_s


def coding(driver: Process, tried: list[Program]) -> float:
    """CPU seconds a program for writing the messages and reading the answers, with no pipe between."""
    columns = Columns(driver.hello)
    said = [answers_of(driver, program) for program in tried]
    start = time.process_time()
    for program, answers in zip(tried, said, strict=True):
        encode(program)
        Reading(columns, program, None).take(answers)
    return (time.process_time() - start) / len(tried)


def answers_of(driver: Process, program: Program) -> bytes:
    """What the driver says to a program, as it comes over the pipe."""
    said = bytearray()

    def take(data: bytes) -> bool:
        said.extend(data)
        return said.endswith(b"done\n")

    child = driver._child
    assert child is not None
    child.exchange(encode(program), take, 60)
    return bytes(said)


def main() -> int:
    """Print the table; 2 where there is no compiler."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    print(f"{'level':>5} {'workers':>7} {'programs/s':>10} {'of it gate':>11} {'pipe':>7}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            command = build("cpp", "expert", Path(folder))
        except NoCompiler as missing:
            print(missing, file=sys.stderr)
            return 2
        for level in (0, 1, 2, 3):
            for workers in (1, 2):
                tasks = [(f"{command} level={level}", seconds, seed) for seed in range(workers)]
                with multiprocessing.Pool(workers) as pool:
                    rates, gate_s, coding_s = zip(*pool.map(measure, tasks), strict=True)
                gate_us = sum(gate_s) / workers * 1e6
                pipe_us = gate_us - sum(coding_s) / workers * 1e6
                print(
                    f"{level:>5} {workers:>7} {sum(rates):>10,.0f} {gate_us:>8.0f} µs {pipe_us:>4.0f} µs"
                )
    print(f"\ntarget: {TARGET:,} programs/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
