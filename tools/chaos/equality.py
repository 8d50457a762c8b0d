"""Parts that only compare: on any executors, under random kills, without shared memory files, the digest is the same."""

import os
import subprocess

from campaign import Campaign
from program import Outcome


def compare(campaign: Campaign, options: list[str], changes: list[str], prefix: tuple[str, ...] = ()) -> Outcome:
    """A run with `changes`, which must give what the reference gives without them."""
    outcome = campaign.program.run([*options, *changes], prefix)
    difference = outcome.difference(campaign.program.reference(tuple(options)))
    if difference:
        campaign.fail(f"{' '.join(changes)}: {difference}", outcome.command)
    return outcome


def executors(campaign: Campaign) -> str:
    counts = range(1, campaign.settings.max_executors + 1)
    variants = [["--executor", "reference"]]
    variants += [[f"--{kind}", str(count)] for kind in ("threads", "processes") for count in counts]
    for variant in campaign.rounds(len(variants)):
        if variant < len(variants):
            compare(campaign, [], variants[variant])
    digest = campaign.program.reference().digest
    return f"reference, 1 to {counts[-1]} threads, 1 to {counts[-1]} processes: digest {digest[:16]}…"


def random_kill(campaign: Campaign) -> str:
    kills = runs_with_kills = 0
    for seed in campaign.rounds(campaign.settings.seeds):
        processes = 1 + seed % campaign.settings.max_executors
        fault = f"random-kill=0.01,seed={seed}"
        outcome = compare(campaign, [], ["--processes", str(processes), "--inject", fault])
        kills += outcome.restarts
        runs_with_kills += outcome.restarts > 0
    if kills == 0:
        campaign.fail("not a single worker was killed", outcome.command)
    runs = len(campaign.settings.chosen(campaign.settings.seeds))
    return f"{runs} runs, {kills} kills in {runs_with_kills} of them"


# Mounts /dev/shm anew, sees that 65 MiB do not fit into it, and becomes the program.
RESTRICT = "; ".join(
    (
        'mount -t tmpfs -o "$1" tmpfs /dev/shm || exit 98',
        "shift",
        "(head -c 68157440 /dev/zero >/dev/shm/probe) 2>/dev/null && exit 97",
        "rm -f /dev/shm/probe",
        'exec "$@"',
    )
)
# Its parameters and gradients are more than 90 MiB of shared memory.
LARGE = ["--set", "model.hidden=[1536,1536]", "--steps", "4"]


def can_mount() -> bool:
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"]
    try:
        return os.geteuid() == 0 and subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def shm(campaign: Campaign) -> str:
    if not can_mount():
        campaign.skipped = "needs root, and a mount namespace of its own"
        return ""
    kinds = ["size=64m", "size=4k", "ro"]
    for kind in campaign.rounds(len(kinds)):
        prefix = ("unshare", "--mount", "sh", "-c", RESTRICT, "sh", kinds[kind])
        compare(campaign, LARGE, ["--processes", "5", "--inject", "random-kill=0.1,seed=1"], prefix)
        if not campaign.settings.quick:
            compare(campaign, LARGE, ["--processes", "2"], prefix)
    return "processes where /dev/shm has 64 MiB, has 4 KiB, is read-only"
