"""Which of the project's own files include which: shared by the checks."""

import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("viva", "cli", "examples", "bench", "tests")
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def sources():
    """Every C++ file of the project, as paths relative to the root."""
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".h", ".cpp"))
    return sorted(path.relative_to(ROOT) for path in found)


@functools.cache
def includes(path):
    """The files that `path` includes by a quoted name, with the line of each."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return tuple((match.group(1), text.count("\n", 0, match.start(1)) + 1) for match in _INCLUDE.finditer(text))


@functools.cache
def closure(path):
    """`path` and all of the project's files that it includes, directly or not."""
    reached, todo = set(), [path]
    while todo:
        current = todo.pop()
        if current in reached or not (ROOT / current).is_file():
            continue
        reached.add(current)
        todo += (pathlib.Path(name) for name, _ in includes(current))
    return sorted(reached)
