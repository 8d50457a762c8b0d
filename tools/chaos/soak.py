"""A long run with random kills: memory, descriptors and processes stay as they are."""

import dataclasses
import statistics
import time

import processes
from campaign import Campaign
from program import Run

PROCESSES = 4
MEMORY_ALLOWANCE = (1.02, 1024)  # factor, KiB


@dataclasses.dataclass
class Sample:
    """Memory in KiB, without pages of files; descriptors of coordinator and zygote; processes, zombies included."""

    memory: int
    coordinator: int
    zygote: int
    count: int


def sample(run: Run) -> Sample | None:
    zygote = run.zygote()
    if zygote is None:
        return None
    family = processes.family_of(run.pid) | set(processes.marked(run.mark))
    memory = sum(map(processes.proportional_memory, family))
    found = Sample(memory, processes.descriptors(run.pid), processes.descriptors(zygote), len(family))
    # It may have ended meanwhile.
    return found if found.coordinator >= 0 and found.zygote >= 0 else None


def samples_of(run: Run, every: float, seconds: float) -> list[Sample]:
    """Until the run ends or the time is over."""
    samples = []
    deadline = time.monotonic() + seconds
    while not run.ended() and time.monotonic() < deadline:
        time.sleep(every)
        found = sample(run)
        if found is not None:
            samples.append(found)
    return samples


def not_flat(before: list[Sample], after: list[Sample]) -> list[str]:
    """What the last quarter has more of than the second one."""

    def medians(name: str) -> tuple[float, float]:
        return tuple(statistics.median(getattr(one, name) for one in quarter) for quarter in (before, after))

    complaints = []
    factor, addend = MEMORY_ALLOWANCE
    earlier, later = medians("memory")
    if later > earlier * factor + addend:
        complaints.append(f"memory rose from {earlier:.0f} to {later:.0f} KiB")
    for name in ("coordinator", "zygote"):
        earlier, later = medians(name)
        if later != earlier:
            complaints.append(f"open descriptors of the {name} went from {earlier} to {later}")
    return complaints


def figures(name: str, samples: list[Sample]) -> str:
    memory = [one.memory for one in samples]
    return (
        f"  {name}: memory of all {statistics.median(memory) / 1024:.2f} MiB"
        f" ({min(memory) / 1024:.2f} to {max(memory) / 1024:.2f}),"
        f" descriptors of the coordinator {statistics.median(one.coordinator for one in samples):g},"
        f" of the zygote {statistics.median(one.zygote for one in samples):g},"
        f" processes {min(one.count for one in samples)} to {max(one.count for one in samples)}"
    )


def soak(campaign: Campaign) -> str:
    steps = campaign.settings.soak_steps
    short = ("--steps", str(steps))
    # An executor bears 100 restarts in 60 s. 10,000 steps are about a minute; with a second between samples a short run
    # would have none.
    options = [*short, "--processes", str(PROCESSES), "--inject", "slow=1.5ms"]
    options += ["--inject", "random-kill=0.002,seed=1"]
    every = min(1.0, steps / 10_000)
    with campaign.program.start(options) as run:
        samples = samples_of(run, every, seconds=60 + steps / 20)
        outcome = run.outcome()
        difference = outcome.difference(campaign.program.reference(short))
    complaints = [difference] if difference else []
    if outcome.restarts == 0:
        complaints.append("not a single worker was killed")
    if len(samples) < 16:
        complaints.append(f"only {len(samples)} samples")
    else:
        quarter = len(samples) // 4
        before, after = samples[quarter : 2 * quarter], samples[-quarter:]
        complaints += not_flat(before, after)
        most = max(one.count for one in samples)
        if most > 2 + PROCESSES:
            complaints.append(f"{most} processes; there should be {2 + PROCESSES}")
        print(figures("second quarter", before))
        print(figures("last quarter", after))
    for complaint in complaints:
        campaign.fail(complaint, outcome.command)
    return f"{steps} steps, {outcome.restarts} kills, {len(samples)} samples, {'not ' if complaints else ''}flat"
