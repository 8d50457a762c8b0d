"""Any worker may be killed at any moment and nothing changes: a campaign against the real program.

Every part runs the program with faults and compares the digest and the total loss with the fault-free reference's:

  executors    the reference, 1 to 8 threads, 1 to 8 processes
  random-kill  --inject random-kill over many seeds
  kill-each    SIGKILL, SIGSTOP, SIGSEGV from outside to every worker process, at random moments
  orphans      SIGKILL to the coordinator or the zygote: within a second nothing of the run is left
  shm          processes where /dev/shm is small or cannot be written (needs root)
  soak         a long run with random kills: memory, descriptors, processes stay as they are

Exit code 0: all held; 1: something did not, with the command that shows it.
"""

import argparse
import os
import pathlib
import resource
import signal
import sys
import time

import equality
import processes
import soak
import strikes
from campaign import Campaign, Settings, run_part
from program import ROOT, Program

PARTS = {
    "executors": equality.executors,
    "random-kill": equality.random_kill,
    "kill-each": strikes.kill_each,
    "orphans": strikes.orphans,
    "shm": equality.shm,
    "soak": soak.soak,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a little of every part, in less than half a minute")
    parser.add_argument("--only", metavar="PART", choices=PARTS, action="append", help="this part; may be repeated")
    parser.add_argument("--seeds", type=int, metavar="N", help="runs of random-kill (200; quick: 8)")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of kill-each (21; quick: 3)")
    parser.add_argument("--orphan-rounds", type=int, metavar="N", help="rounds of orphans (100; quick: 6)")
    parser.add_argument("--soak-steps", type=int, metavar="N", help="steps of soak (10000; quick: 300)")
    parser.add_argument("--round", type=int, metavar="N", help="of every part only this round, counted from 0")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="decides numbers and moments (1)")
    parser.add_argument("--viva", type=pathlib.Path, default=ROOT / "build/release/cli/viva", help="the program")
    return parser.parse_args()


def stop(number: int, _: object) -> None:
    sys.exit(128 + number)


def run_all(parts: list[str], program: Program, settings: Settings) -> int:
    began = time.monotonic()
    campaigns = []
    for part in parts:
        campaigns.append(Campaign(part, program, settings))
        run_part(campaigns[-1], PARTS[part])
    failed = [campaign.part for campaign in campaigns if campaign.failures]
    skipped = [f"{campaign.part} ({campaign.skipped})" for campaign in campaigns if campaign.skipped]
    passed = len(campaigns) - len(failed) - len(skipped)
    print(
        f"chaos: {passed} parts passed, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}"
        f"{'; skipped: ' if skipped else ''}{', '.join(skipped)}; {time.monotonic() - began:.0f} s"
    )
    return 1 if failed else 0


def main() -> int:
    args = arguments()
    if not os.access(args.viva, os.X_OK):
        print(f"chaos: there is no program {args.viva}; ./dev build makes it")
        return 1
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # SIGSEGV leaves no file
    processes.adopt_orphans()
    program = Program(args.viva)
    try:
        return run_all(args.only or list(PARTS), program, Settings.of(args))
    except RuntimeError as error:
        print(f"chaos: {error}")
        return 1
    finally:
        program.close()


if __name__ == "__main__":
    sys.exit(main())
