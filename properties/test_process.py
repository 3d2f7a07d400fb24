"""Does every way in which a driver's process can go wrong give its own verdict, in time, and leave nothing behind?"""

from __future__ import annotations

import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gate.connect.connecting import connect
from gate.connect.implementation import CRASH, GARBAGE, HANG, Failure
from gate.connect.process import MOST_FAILED_STARTS, Process, connect_process
from gate.judging.judge import Judge
from gate.judging.subject import Subject
from reference.errors import InputError
from reference.expert_config import ExpertConfig
from reference.laws import EXPERT
from reference.program import Begin, Operation, Program, SetBudget
from reference.sizing import ModelShape

ROOT = Path(__file__).resolve().parent.parent
DRIVER = ROOT / "fixtures" / "misbehaving_driver.py"
DEADLINE_S = 2.0


def command(how: str, *mark: str) -> str:
    """The command line of a driver that goes wrong in one way."""
    return shlex.join([sys.executable, "-I", "-S", str(DRIVER), how, *mark])


@contextmanager
def started(how: str, *mark: str, deadline_s: float = DEADLINE_S) -> Iterator[Process]:
    """That driver, connected."""
    driver = connect(f"cmd+deadline={deadline_s}:{command(how, *mark)}", EXPERT)
    assert isinstance(driver, Process)
    try:
        yield driver
    finally:
        driver.close()


def program(*operations: Operation) -> Program:
    """A small program."""
    return Program(ExpertConfig(ModelShape((1,), (2,), 1)), (Begin(), *operations))


GOOD = program(SetBudget(5))
BAD = program(SetBudget(666), SetBudget(5))


def is_running(pid: int) -> bool:
    """Is there such a process, other than as a zombie?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def gone(pid: int) -> bool:
    """Does the process end, now or within a few seconds?"""
    for _ in range(100):
        if not is_running(pid):
            return True
        time.sleep(0.05)
    return False


VERDICTS = {
    "crash": (CRASH, "ended by signal SIGSEGV after 2 of 4 answers; stderr: assertion failed"),
    "exit": (CRASH, "exited with code 3 after 2 of 4 answers"),
    "leave": (CRASH, "exited with code 0 after 2 of 4 answers"),
    "hang": (HANG, "nothing within 2 s after 2 of 4 answers"),
    "drip": (HANG, "nothing within 2 s after 2 of 4 answers"),
    "few": (GARBAGE, "`done` after 2 of 4 answers"),
    "many": (GARBAGE, "more than 4 answers: '- - - - 0' in place of `done`"),
    "flood": (GARBAGE, "more than 4 answers: '- - - - 0' in place of `done`"),
    "endless-line": (GARBAGE, "more than 64 MiB of answers to one program"),
    "binary": (GARBAGE, "byte 0x80 is no plain text"),
    "narrow": (GARBAGE, "answer 2, to `budget 666`: 3 columns where the hello names 5: '- - -'"),
    "words": (
        GARBAGE,
        "answer 2, to `budget 666`: column lookups: expected a whole number, got 'lots'",
    ),
    "flags": (GARBAGE, "answer 2, to `budget 666`: column hit: expected 0 and 1, or -, got 'yes'"),
    "chatty": (
        GARBAGE,
        "answer 2, to `budget 666`: 3 columns where the hello names 5: 'debug: bud",
    ),
    "close-stdout": (GARBAGE, "closed its stdout and runs on after 2 of 4 answers"),
}
"""How a driver goes wrong on one program -> its verdict, and how the detail begins."""


@pytest.mark.parametrize("how", sorted(VERDICTS))
def test_each_fault_has_its_own_verdict(how: str) -> None:
    """The verdict and its reason are those of the fault, the process is ended, and the run goes on with another."""
    verdict, detail = VERDICTS[how]
    with started(how) as driver:
        assert len(driver.run(GOOD).answers) == 2
        first = driver.pid
        before = time.monotonic()
        with pytest.raises(Failure) as caught:
            driver.run(BAD)
        took_s = time.monotonic() - before
        assert (caught.value.verdict, caught.value.detail[: len(detail)]) == (verdict, detail)
        assert took_s < DEADLINE_S + 20  # the driver would go on for an hour
        assert first is not None
        assert gone(first)
        assert len(driver.run(GOOD).answers) == 2
        assert driver.pid != first


LATE = {
    "late-crash": (CRASH, "ended by signal SIGSEGV after `done`; stderr: assertion failed: x == y"),
    "late-exit": (CRASH, "exited with code 3 after `done`"),
    "late-leave": (CRASH, "exited with code 0 after `done`"),
    "late-words": (GARBAGE, "goes on: 'one more thing\\n' after `done`"),
}
"""How a driver goes wrong just after it has said `done`."""


@pytest.mark.parametrize(
    "how, wait_s",
    [*((how, 0.2) for how in LATE), *((how, 0.0) for how in LATE if "words" not in how)],
)
def test_a_fault_just_after_done_is_charged_to_that_program(how: str, wait_s: float) -> None:
    """Whether it shows before the next program is sent or meanwhile: that one is not blamed, and runs well again."""
    with started(how) as driver:
        driver.run(BAD)
        time.sleep(wait_s)
        with pytest.raises(Failure) as caught:
            driver.run(GOOD)
        assert (caught.value.verdict, caught.value.detail) == LATE[how]
        assert caught.value.program == BAD
        assert len(driver.run(GOOD).answers) == 2


def test_a_crash_in_the_first_answer_is_not_charged_to_the_program_before() -> None:
    """Run once more, the one before lives on; so it is the one that was sent."""
    first = Program(GOOD.config, (SetBudget(666),))
    with started("crash") as driver:
        driver.run(GOOD)
        with pytest.raises(Failure) as caught:
            driver.run(first)
    assert caught.value.verdict == CRASH
    assert caught.value.program is None


def test_a_fault_after_done_is_shrunk() -> None:
    """The judge names the program that did it, and what is left of it is the operation that did."""
    with started("late-exit") as driver:
        judge = Judge(driver, [])
        assert judge.judge(BAD) is None
        time.sleep(0.2)
        fault = judge.judge(GOOD)
        assert fault is not None
        assert (fault.verdict, fault.program) == (CRASH, BAD)
        small = Subject("", driver).smallest(judge, fault)
    assert small.program.operations == (SetBudget(666),)


def test_a_closed_stdin_is_garbage_when_the_next_program_is_sent() -> None:
    """A driver that closes its stdin and runs on is told from one that hangs as soon as it is written to."""
    with started("close-stdin") as driver, pytest.raises(Failure) as caught:
        driver.run(program(SetBudget(666), *[SetBudget(5)] * 50_000))
    assert (caught.value.verdict, caught.value.detail.partition(" after")[0]) == (
        GARBAGE,
        "closed its stdin and runs on",
    )


def test_a_driver_that_stops_reading_does_not_block_the_gate() -> None:
    """A message larger than the pipe, to a driver that sleeps, ends at the deadline."""
    with started("hang") as driver, pytest.raises(Failure) as caught:
        driver.run(program(SetBudget(666), *[SetBudget(5)] * 50_000))
    assert caught.value.verdict == HANG


def test_messages_beyond_the_pipes_do_not_deadlock() -> None:
    """50,000 operations, 600 kB there and 500 kB back, while the driver answers each at once."""
    with started("none", deadline_s=60) as driver:
        outcome = driver.run(program(*[SetBudget(5)] * 50_000))
    assert len(outcome.answers) == 50_001


@pytest.mark.parametrize("how", ["flood", "endless-line", "stderr"])
def test_a_flood_is_cut_off_in_bounded_memory(how: str) -> None:
    """1 GiB on stdout, or 30 MB on stderr, never lies in memory as a whole."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with started(how, deadline_s=60) as driver:
        if how == "stderr":
            assert len(driver.run(BAD).answers) == 3
        else:
            with pytest.raises(Failure):
                driver.run(BAD)
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown_mib < 160


def test_what_a_driver_started_is_ended_too() -> None:
    """A process that the driver left behind ends with it."""
    with started("fork") as driver, pytest.raises(Failure) as caught:
        driver.run(BAD)
    child = re.search(r"child (\d+)", caught.value.detail)
    assert child is not None
    assert gone(int(child.group(1)))


@pytest.mark.parametrize("how", ["none", "stays"])
def test_no_process_is_left_after_closing(how: str) -> None:
    """A driver that goes at `bye`, and one that stays, are both gone, and not as zombies."""
    with started(how) as driver:
        pid = driver.pid
    assert pid is not None
    assert not is_running(pid)
    assert driver.pid is None


HELLOS = {
    "silent": "gives no hello: hang: nothing within 2 s, before any hello",
    "never-starts": "gives no hello: crash: exited with code 1, before any hello; stderr: no such device",
    "greeting": "cannot be understood: 'Hello, I am a cache.'",
    "protocol-9": "it speaks protocol 9",
    "row-cache": "it is a driver of row-cache",
    "level-lie": "it promises level 3, but its columns lack order",
    "level-low": "its columns have refusal, which level 0 does not offer",
    "level-7": "level=7",
    "no-counters": "it names no counter",
    "out-of-order": "its columns are out of order",
    "twice": "columns=refusal,hit,read,digest,lookups,lookups",
    "can-fly": "no capabilities: flying",
    "own-rule": "a rule it cannot have",
    "typo": "'bugdet_rule=bytes' is no setting, or one given twice",
    "two-lines": "gives no hello: garbage: it goes on after the hello: 'ready",
    "endless": "gives no hello: garbage: more than 64 KiB before the hello ends",
    "binary-hello": "gives no hello: garbage: no plain text",
}


@pytest.mark.parametrize("how", sorted(HELLOS))
def test_a_hello_that_cannot_be_used_is_an_input_error(how: str) -> None:
    """Nothing can be judged on such a driver: the error names the fault and what was expected, and nothing is left."""
    with pytest.raises(InputError) as caught, started(how):
        pass
    assert HELLOS[how] in caught.value.problem
    assert caught.value.expected


@pytest.mark.parametrize(
    "line, problem",
    [
        ("./no-such-driver", "cannot be started: No such file or directory"),
        (str(ROOT / "pyproject.toml"), "cannot be started: Permission denied"),
        ("", "names no program"),
        ("'", "No closing quotation"),
    ],
)
def test_a_command_that_cannot_be_started_is_an_input_error(line: str, problem: str) -> None:
    """The error names the command and what is wrong with it."""
    with pytest.raises(InputError) as caught:
        connect_process(line, EXPERT)
    assert caught.value.problem == problem


@pytest.mark.parametrize(
    "text", ["cmd+fast:x", "cmd+deadline=soon:x", "cmd+deadline=0:x", "cmd+deadline=nan:x"]
)
def test_an_option_that_is_none_is_an_input_error(text: str) -> None:
    """Options are strict and deadline=SECONDS."""
    with pytest.raises(InputError):
        connect(text, EXPERT)


def test_a_driver_that_comes_back_changed_is_garbage(tmp_path: Path) -> None:
    """After a crash the driver must say the same hello again, or every later verdict would be about another one."""
    with started("comes-back-changed", str(tmp_path / "mark")) as driver:
        for budget, verdict, detail in (
            (666, CRASH, "ended by"),
            (5, GARBAGE, "started again, it"),
        ):
            with pytest.raises(Failure) as caught:
                driver.run(program(SetBudget(budget)))
            assert caught.value.verdict == verdict
            assert caught.value.detail.startswith(detail)


def test_a_driver_that_never_comes_back_is_given_up(tmp_path: Path) -> None:
    """Every program after the crash fails, and after a few starts none is tried any more."""
    with started("never-comes-back", str(tmp_path / "mark")) as driver:
        details = []
        for budget in (666, *[5] * (MOST_FAILED_STARTS + 1)):
            with pytest.raises(Failure) as caught:
                driver.run(program(SetBudget(budget)))
            assert caught.value.verdict == CRASH
            details.append(caught.value.detail)
    assert "no such device" in details[1]
    assert details[-1] == "does not come up again: 3 starts in a row failed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_when_the_gate_is_interrupted(number: int, tmp_path: Path) -> None:
    """Ctrl-C, an end from outside and a closed terminal: the driver that hangs is gone with the gate."""
    mark = tmp_path / "pid"
    code = (
        "from gate.connect.connecting import connect; from properties.test_process import BAD;"
        f"connect({'cmd+deadline=60:' + command('hang', str(mark))!r}, 'expert-cache').run(BAD)"
    )
    gate = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.DEVNULL)
    while not mark.exists() or not mark.read_text():
        assert gate.poll() is None, "it ended before its driver started"
        time.sleep(0.02)
    time.sleep(0.3)
    gate.send_signal(number)
    assert gate.wait(20) != 0
    assert gone(int(mark.read_text()))
