"""Fails on an include that points upward, and on a C++ file that is too long.

docs/layout.md explains the table; a folder may include itself and whatever lies below it.
"""

import sys

import includes

DIRECTLY_BELOW = {
    "base": [],
    "tensor": ["base"],
    "comm": ["base"],
    "observe": ["base"],
    "optim": ["tensor"],
    "data": ["tensor"],
    "io": ["optim"],
    "autograd": ["optim", "data"],
    "nn": ["autograd", "optim", "data"],
    "distributed": ["comm", "observe", "io", "autograd", "optim", "data"],
}
MAX_LINES = 1000


def allowed(module):
    below = {module}
    for name in DIRECTLY_BELOW[module]:
        below |= allowed(name)
    return below


def errors_of(path):
    lines = (includes.ROOT / path).read_text(encoding="utf-8").count("\n")
    if lines > MAX_LINES:
        yield f"{path}: {lines} lines; split it, the limit is {MAX_LINES}"
    if path.parts[0] != "viva":
        return  # the program, examples, benchmarks and tests stand above all modules
    module = path.parts[1]
    if module not in DIRECTLY_BELOW:
        yield f"{path}: folder viva/{module} is unknown; add it to the table in tools/check_layers.py"
        return
    for name, line in includes.includes(path):
        target = name.split("/")
        if target[0] != "viva":
            yield f'{path}:{line}: "{name}": the library includes its own files by "viva/…" and nothing above it'
        elif target[1] not in allowed(module):
            below = ", ".join(sorted(allowed(module)))
            yield f'{path}:{line}: "{name}" points upward; viva/{module} may include {below}'


def main():
    errors = [error for path in includes.sources() for error in errors_of(path)]
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
