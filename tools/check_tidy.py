"""Runs clang-tidy over the .cpp files of the library, program, examples and benchmarks: check_tidy.py BUILD_DIRECTORY.

The tests are left out: GoogleTest's and RapidCheck's headers make a file take half a minute.
A file that passed is not looked at again before something it is made of changes: itself, the project's headers it
includes, .clang-tidy, the compiler's command or clang-tidy's version.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import includes

FOLDERS = ("viva", "cli", "examples", "bench")


def compile_commands(build):
    """(path relative to the root, command) of the project's own files and of the files that compile several at a time."""
    database = build / "compile_commands.json"
    if not database.is_file():
        sys.exit(f"{database}: not there; configure {build} first")
    for entry in json.loads(database.read_text(encoding="utf-8")):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        for root in (build.resolve(), includes.ROOT):
            if path.is_relative_to(root):
                if path.relative_to(root).parts[0] in FOLDERS:
                    yield path, entry["command"]
                break


def digest(path, command, common):
    state = hashlib.sha256(common)
    state.update(command.encode())
    for part in includes.closure(path):
        state.update(str(part).encode() + b"\0" + (includes.ROOT / part).read_bytes())
    return state.hexdigest()


def tidy(path, build):
    """clang-tidy's findings, or "" where there are none."""
    # The database is g++'s: clang is told to overlook the options that only g++ knows.
    command = ["clang-tidy", "--quiet", "-p", build, "--extra-arg=-Wno-unknown-warning-option", path]
    result = subprocess.run(command, cwd=includes.ROOT, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stdout + result.stderr


def main():
    build = pathlib.Path(sys.argv[1])
    passed = build / "tidy-passed"
    passed.mkdir(exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    common = version + (includes.ROOT / ".clang-tidy").read_bytes()
    todo = [(path, passed / digest(path, command, common)) for path, command in compile_commands(build)]
    todo = [(path, mark) for path, mark in todo if not mark.exists()]

    failed = False
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        findings = pool.map(lambda item: tidy(item[0], build), todo)
        for (path, mark), text in zip(todo, findings):
            if text:
                failed = True
                print(f"{path}:\n{text}", flush=True)
            else:
                mark.touch()
    print(f"clang-tidy: {len(todo)} files looked at")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
