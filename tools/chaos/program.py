"""The program under test: its recipe, its command lines, what it answers."""

import dataclasses
import json
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable

import processes

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "chaos"

WORKERS = 7

# Seven workers and ten batches a step divide evenly among no number of executors but one.
RECIPE = f"""\
# Written by ./dev chaos.
[data]
train_images = "train-images"
train_labels = "train-labels"
test_images = "test-images"
test_labels = "test-labels"

[model]
kind = "mlp"
hidden = [16]

[optimizer]
kind = "adamw"
lr = 0.01

[train]
workers = {WORKERS}
batches_per_step = 10
batch_size = 4
clip_norm = 1.0
steps = 60
seed = 1
"""


def write(path: pathlib.Path, content: bytes) -> None:
    """Only where it is not there yet, and whole or not at all: another campaign may use it."""
    if path.exists() and path.read_bytes() == content:
        return
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    os.replace(file.name, path)


def write_recipe() -> pathlib.Path:
    """The recipe and its images: noise, with a bright row that tells the class."""
    WORK.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train", 600, 1), ("test", 100, 2)):
        numbers = random.Random(seed)
        images = bytearray()
        for sample in range(count):
            row = 28 * (2 * (sample % 10) + 4)
            image = numbers.randbytes(784)
            images += image[:row] + b"\xff" * 28 + image[row + 28 :]
        labels = bytes(sample % 10 for sample in range(count))
        lengths = [length.to_bytes(4, "big") for length in (count, 28, 28)]
        write(WORK / f"{name}-images", b"\0\0\x08\x03" + b"".join(lengths) + bytes(images))
        write(WORK / f"{name}-labels", b"\0\0\x08\x01" + lengths[0] + labels)
    recipe = WORK / "recipe.toml"
    write(recipe, RECIPE.encode())
    return recipe


@dataclasses.dataclass
class Outcome:
    """How a run ended and what it printed."""

    command: str
    code: int | None  # None: it had to be killed, it took too long
    digest: str = ""
    total_loss: float = 0
    restarts: int = 0
    stderr: str = ""
    left: str = ""  # processes that outlived it

    def take(self, json_text: str) -> None:
        try:
            answer = json.loads(json_text)
            self.digest = answer["digest"]
            self.total_loss = answer["total_loss"]
            self.restarts = answer["restarts"]
        except (ValueError, KeyError):
            self.digest = ""

    def difference(self, reference: "Outcome") -> str:
        """What is not as in the fault-free run; nothing where all is well."""
        if self.code is None:
            return "did not end in time"
        if self.code != 0:
            return f"exit code {self.code}: {self.stderr.strip().splitlines()[-1:]}"
        if not self.digest:
            return "printed no result"
        if self.digest != reference.digest:
            return f"digest {self.digest[:16]}… instead of {reference.digest[:16]}…"
        if self.total_loss != reference.total_loss:
            return f"total_loss {self.total_loss} instead of {reference.total_loss}"
        return f"a second after the end there was still {self.left}" if self.left else ""


class Run:
    """One run of the program; nothing of it is left when the `with` ends."""

    def __init__(self, argv: list[str], command: str, mark: str, directory: pathlib.Path) -> None:
        self.command = command
        self.mark = mark
        self.directory = directory
        self.temporary = directory / "tmp"
        self.temporary.mkdir()
        name, _, value = mark.partition("=")
        environment = os.environ | {name: value, "TMPDIR": str(self.temporary)}
        with open(directory / "stdout", "wb") as stdout, open(directory / "stderr", "wb") as stderr:
            self.process = subprocess.Popen(
                argv, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr
            )

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def pid(self) -> int:
        return self.process.pid

    def ended(self) -> bool:
        return self.process.poll() is not None

    def left(self) -> list[int]:
        """Its processes that are still there, and any orphan."""
        return processes.left(self.mark, {self.pid}) + ([] if self.ended() else [self.pid])

    def zygote(self) -> int | None:
        return next(iter(processes.children_of(self.pid)), None)

    def workers(self) -> list[int]:
        zygote = self.zygote()
        return [] if zygote is None else processes.children_of(zygote)

    def await_(self, condition: Callable[[], bool], seconds: float = 20) -> bool:
        """Whether the condition came true before the program ended and before the time was over."""
        deadline = time.monotonic() + seconds
        while not self.ended() and time.monotonic() < deadline:
            if condition():
                return True
            time.sleep(0.001)
        return False

    def stderr(self) -> str:
        return (self.directory / "stderr").read_text(errors="replace")

    def outcome(self, seconds: float = 60) -> Outcome:
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return Outcome(self.command, None, stderr=self.stderr())
        outcome = Outcome(self.command, code, stderr=self.stderr())
        if code == 0:
            outcome.take((self.directory / "stdout").read_text())
        outcome.left = ", ".join(map(processes.describe, self.await_nothing_left()))
        return outcome

    def await_nothing_left(self, seconds: float = 1) -> list[int]:
        """What is still there when the time is over."""
        deadline = time.monotonic() + seconds
        while (left := self.left()) and time.monotonic() < deadline:
            time.sleep(0.001)
        return left

    def end(self) -> None:
        for _ in range(100):
            if not self.left():
                return
            processes.end_all(self.mark)
            time.sleep(0.02)


class Program:
    """Starts runs. `close` ends what is left of them."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path.resolve()
        self.recipe = write_recipe()
        self.mark = f"VIVA_CHAOS={os.getpid()}-{time.time_ns()}"
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=WORK))
        self._runs = 0
        self._references: dict[tuple[str, ...], Outcome] = {}

    def start(self, options: list[str], prefix: tuple[str, ...] = ()) -> Run:
        self._runs += 1
        path, recipe = (
            str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else str(file) for file in (self.path, self.recipe)
        )
        argv = [*prefix, path, "train", recipe, "--json", "--quiet", *options]
        directory = self.directory / str(self._runs)
        directory.mkdir()
        return Run(argv, shlex.join(argv), f"{self.mark}-{self._runs}-", directory)

    def run(self, options: list[str], prefix: tuple[str, ...] = ()) -> Outcome:
        with self.start(options, prefix) as run:
            return run.outcome()

    def reference(self, options: tuple[str, ...] = ()) -> Outcome:
        """The run without processes and without faults that defines the result."""
        if options not in self._references:
            outcome = self.run([*options, "--executor", "reference"])
            if outcome.code != 0 or not outcome.digest:
                raise RuntimeError(f"the fault-free run fails: {outcome.command}\n{outcome.stderr}")
            self._references[options] = outcome
        return self._references[options]

    def close(self) -> None:
        processes.end_all(self.mark)
        shutil.rmtree(self.directory, ignore_errors=True)
