"""Parts that strike from outside: at workers, which are replaced; at coordinator and zygote, whose end takes all along."""

import dataclasses
import os
import pathlib
import signal
import time

import processes
from campaign import Campaign
from program import WORKERS, Run

SIGNALS = (signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV)
SECONDS_TO_VANISH = 1.0
SHORT = ("--steps", "40")


def kill_each(campaign: Campaign) -> str:
    struck = dict.fromkeys(SIGNALS, 0)
    rounds = campaign.settings.chosen(campaign.settings.rounds)
    for round_ in campaign.rounds(campaign.settings.rounds):
        number = SIGNALS[round_ % len(SIGNALS)]
        struck[number] += strike_each_worker(campaign, round_, number)
    counts = ", ".join(f"{count} {number.name}" for number, count in struck.items())
    return f"{len(rounds)} rounds, every worker struck once in each: {counts}"


def strike_each_worker(campaign: Campaign, round_: int, number: signal.Signals) -> int:
    """How many it struck."""
    count = 2 + round_ % (campaign.settings.max_executors - 1)
    # Workers have a process each at most. About 25 ms a step, one second in all; one that is stopped is found out by the
    # time limit.
    options = [*SHORT, "--processes", str(count), "--inject", f"slow={2 * count}ms", "--step-timeout", "0.5"]
    numbers = campaign.random(round_)
    with campaign.program.start(options) as run:
        expected = min(count, WORKERS)
        if not run.await_(lambda: len(run.workers()) == expected):
            campaign.fail(f"{expected} workers did not come: {run.stderr()}", run.command, round_)
            return 0
        workers = run.workers()
        numbers.shuffle(workers)
        began = time.monotonic()
        struck = 0
        for worker, moment in zip(workers, sorted(numbers.uniform(0, 0.8) for _ in workers)):
            time.sleep(max(0.0, began + moment - time.monotonic()))
            struck += processes.strike(worker, number, run.mark)
        outcome = run.outcome()
        difference = outcome.difference(campaign.program.reference(SHORT))
        if not difference and outcome.restarts < struck:
            difference = f"{struck} were struck, but only {outcome.restarts} replaced"
        if difference:
            campaign.fail(f"{number.name} to each of {expected} workers: {difference}", run.command, round_)
    return struck


def orphans(campaign: Campaign) -> str:
    good = along = 0
    longest = 0.0
    rounds = campaign.settings.chosen(campaign.settings.orphan_rounds)
    for round_ in campaign.rounds(campaign.settings.orphan_rounds):
        end = end_of_one(campaign, round_, victim="zygote" if round_ % 2 else "coordinator")
        if end is not None:
            good += 1
            along += end.processes
            longest = max(longest, end.seconds)
    return (
        f"{good} of {len(rounds)} rounds left nothing behind; {along} processes ended with coordinator or zygote,"
        f" the slowest after {1000 * longest:.0f} ms"
    )


@dataclasses.dataclass
class End:
    """How many processes ended with the victim, and how long that took."""

    processes: int
    seconds: float


def shared_files() -> set[str]:
    return set(os.listdir("/dev/shm"))


def end_of_one(campaign: Campaign, round_: int, victim: str) -> End | None:
    """Kills the victim; None where the round fails."""
    numbers = campaign.random(round_)
    count = numbers.randint(1, campaign.settings.max_executors)
    # Every second time while the run is only starting.
    moment = numbers.uniform(0, 0.05 if round_ // 2 % 2 else 0.6)
    shared = shared_files()
    out = campaign.program.directory / f"out-{round_}"
    options = ["--steps", "5000", "--processes", str(count), "--out", str(out)]
    options += ["--inject", "slow=1ms", "--inject", f"random-kill=0.02,seed={round_}"]
    with campaign.program.start(options) as run:
        along, failure = kill_after(run, victim, moment)
        began = time.monotonic()
        if not failure:
            run.await_nothing_left(SECONDS_TO_VANISH)
        seconds = time.monotonic() - began
        failure = failure or what_is_left(run, shared, out) or wrong_end(run, victim)
    if failure:
        campaign.fail(f"{victim} killed {1000 * moment:.0f} ms after its start: {failure}", run.command, round_)
        return None
    return End(along, seconds)


def kill_after(run: Run, victim: str, seconds: float) -> tuple[int, str]:
    """How many other processes the run had then, and what went wrong."""
    if victim == "zygote" and not run.await_(lambda: run.zygote() is not None):
        return 0, f"there was no zygote: {run.stderr()}"
    time.sleep(seconds)
    others = len(processes.marked(run.mark)) - 1
    pid = run.zygote() if victim == "zygote" else run.pid
    if pid is None or run.ended() or not processes.strike(pid, signal.SIGKILL, run.mark):
        return 0, f"it had ended already: {run.stderr()}"
    return others, ""


def what_is_left(run: Run, shared: set[str], out: pathlib.Path) -> str:
    left = run.left()
    if left:
        return f"after {SECONDS_TO_VANISH} s there was still {', '.join(map(processes.describe, left))}"
    files = {f"/dev/shm/{name}" for name in shared_files() - shared}
    for directory in (run.temporary, out):
        files |= {str(file) for file in directory.rglob("*")}
    return f"left behind: {', '.join(sorted(files))}" if files else ""


def wrong_end(run: Run, victim: str) -> str:
    code = run.process.returncode
    if victim == "coordinator":
        return "" if code == -signal.SIGKILL else f"exit code {code} instead of the signal"
    if code != 1:
        return f"exit code {code} instead of 1: {run.stderr()}"
    return "" if "SIGKILL" in run.stderr() else f"no message says that SIGKILL ended the zygote: {run.stderr()!r}"
