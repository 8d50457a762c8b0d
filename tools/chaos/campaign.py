"""What all parts of a campaign share: its settings, its randomness, its report."""

import argparse
import dataclasses
import random
import sys
import time
from collections.abc import Callable, Iterator

from program import Program


@dataclasses.dataclass
class Settings:
    """How much of each part is done."""

    quick: bool
    seeds: int
    rounds: int
    orphan_rounds: int
    soak_steps: int
    max_executors: int
    seed: int
    only_round: int | None

    @staticmethod
    def of(args: argparse.Namespace) -> "Settings":
        """What was asked for, else a default: the first figure with --quick, the second without."""
        defaults = {"seeds": (8, 200), "rounds": (3, 21), "orphan_rounds": (6, 100), "soak_steps": (300, 10_000)}
        amounts = {}
        for name, (quick, full) in defaults.items():
            given = getattr(args, name)
            amounts[name] = given if given is not None else quick if args.quick else full
        return Settings(**amounts, quick=args.quick, max_executors=8, seed=args.seed, only_round=args.round)

    def chosen(self, count: int) -> list[int]:
        return list(range(count)) if self.only_round is None else [self.only_round]


class Campaign:
    """One part's view of the campaign: it goes through rounds and reports failures."""

    def __init__(self, part: str, program: Program, settings: Settings) -> None:
        self.part = part
        self.program = program
        self.settings = settings
        self.failures = 0
        self.skipped = ""

    def random(self, round_: int) -> random.Random:
        """A round's own: it can be repeated without the rounds before it."""
        return random.Random(f"{self.settings.seed}/{self.part}/{round_}")

    def rounds(self, count: int) -> Iterator[int]:
        """The round numbers, with a counter on a terminal."""
        chosen = self.settings.chosen(count)
        for done, round_ in enumerate(chosen):
            if sys.stdout.isatty():
                print(f"\r{self.part}: {done} of {len(chosen)} ", end="", flush=True)
            yield round_
        if sys.stdout.isatty():
            print("\r\033[K", end="")

    def fail(self, what: str, command: str, round_: int | None = None) -> None:
        self.failures += 1
        clear = "\r\033[K" if sys.stdout.isatty() else ""
        print(f"{clear}FAILED {self.part}: {what}\n  the run: {command}")
        if round_ is not None:
            print(f"  repeat: ./dev chaos --only {self.part} --seed {self.settings.seed} --round {round_}")
        sys.stdout.flush()


def run_part(campaign: Campaign, part: Callable[[Campaign], str]) -> None:
    began = time.monotonic()
    summary = part(campaign)
    verdict = "skipped" if campaign.skipped else f"{campaign.failures} FAILED" if campaign.failures else "ok"
    print(f"{campaign.part}: {verdict}: {campaign.skipped or summary} ({time.monotonic() - began:.1f} s)", flush=True)
