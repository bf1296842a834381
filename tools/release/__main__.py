"""`make number` and `make release`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from release import making, number
from release.building import CannotBuild


def main(argv: list[str]) -> int:
    """Do what the command line says; returns the exit code, 1 with a line for each thing that is wrong."""
    parser = argparse.ArgumentParser(prog="release", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("number", help="write the version of pyproject.toml into every other place that says it")
    one.add_argument("--check", action="store_true", help="only name the places that differ")
    one = verbs.add_parser("make", help="build the commit that is checked out twice, compare, sign")
    who = one.add_mutually_exclusive_group(required=True)
    who.add_argument("--key", type=Path, metavar="FILE", help="the private key that signs, for ssh-keygen -Y sign")
    who.add_argument("--unsigned", action="store_true", help="nobody signs: for a trial")
    one.add_argument("--without", choices=["images"], action="append", default=[], help="what is not built")
    one.add_argument("--base", action="append", default=[], metavar="IMAGE=BASE", help="another base for an image")
    words = parser.parse_args(argv)
    try:
        if words.verb == "make":
            images = "images" not in words.without
            folder = making.make(key=words.key, images=images, bases=tuple(words.base))
            print(f"{folder}: two builds were equal. docs/recipes.md says how it becomes a release: A release")
            return 0
        if words.check:
            wrong = list(number.differences())
            print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
            return 1 if wrong else 0
        changed = number.write()
        print(f"{number.number()}, written into {', '.join(changed) if changed else 'nothing: all places say it'}")
    except (CannotBuild, number.Wrong) as error:
        print(f"make {'release' if words.verb == 'make' else 'number'}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
