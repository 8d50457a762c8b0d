"""Names that a folder's files define for themselves differ from file to file.

Several files of a folder are compiled as one (CMakePresets.json, unity builds), so that their unnamed namespaces are one:
two functions of one name would be overloads, and a call might choose the other file's.
"""

import collections
import re
import sys

import includes

UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
DEFINITION = re.compile(
    r"""^(?:
        (?:class|struct|union|enum\ class|enum)\ (?:alignas\([^)]*\)\ )?(?P<type>\w+)
      | using\ (?P<alias>\w+)\ =
      | (?!(?:using|template|namespace)\b)\w[\w:<>,&*\ .]*?[\ &*>](?P<object>\w+)(?:\(|\ =|\{|\[|;)
    )""",
    re.MULTILINE | re.VERBOSE,
)


def own_names(text):
    """The names defined at the outermost level of a file's unnamed namespaces."""
    for block in UNNAMED.finditer(text):
        for match in DEFINITION.finditer(block.group(1)):
            yield next(name for name in match.groups() if name)


def main():
    places = collections.defaultdict(set)
    for path in includes.sources():
        text = (includes.ROOT / path).read_text(encoding="utf-8")
        if path.suffix == ".cpp" and "HWY_TARGET_INCLUDE" not in text:
            for name in own_names(text):
                places[path.parent, name].add(path)
    clashes = [(name, paths) for (_, name), paths in sorted(places.items()) if len(paths) > 1]
    for name, paths in clashes:
        print(f"{name}: defined in the unnamed namespaces of {', '.join(str(path) for path in sorted(paths))}")
    return 1 if clashes else 0


if __name__ == "__main__":
    sys.exit(main())
