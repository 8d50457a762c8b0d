"""Fails where a document's copy of a source file is no longer that file.

A copy stands between `<!-- snippet: PATH -->` and `<!-- end -->`, as one fenced block. `--fix` renews the copies.
"""

import pathlib
import re
import sys

import includes

DOCUMENTS = ["README.md", "docs"]
SNIPPET = re.compile(r"(<!-- snippet: (\S+) -->\n```\w*\n)(.*?)(```\n<!-- end -->)", re.DOTALL)
MARKER = re.compile(r"<!-- snippet: ")


def documents():
    for name in DOCUMENTS:
        path = includes.ROOT / name
        yield from [path] if path.is_file() else sorted(path.rglob("*.md"))


def check(document, fix):
    """The document's errors; with `fix` its stale copies are renewed instead."""
    text = document.read_text(encoding="utf-8")
    name = document.relative_to(includes.ROOT)
    errors = []

    def renew(match):
        opening, source, copy, closing = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        path = includes.ROOT / pathlib.Path(source)
        if not path.is_file():
            errors.append(f"{name}:{line}: {source} does not exist")
            return match.group()
        wanted = path.read_text(encoding="utf-8")
        if copy != wanted and not fix:
            errors.append(f"{name}:{line}: differs from {source}; python3 tools/check_snippets.py --fix renews it")
        return opening + wanted + closing

    renewed = SNIPPET.sub(renew, text)
    if len(MARKER.findall(text)) != len(SNIPPET.findall(text)):
        errors.append(f"{name}: a snippet's markers are incomplete: <!-- snippet: PATH -->, a fenced block, <!-- end -->")
    if fix and renewed != text and not errors:
        document.write_text(renewed, encoding="utf-8")
    return errors


def main():
    errors = [error for document in documents() for error in check(document, fix="--fix" in sys.argv[1:])]
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
