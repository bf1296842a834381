"""`python -m release number [--check]`: the version, from pyproject.toml into all places that say it."""

from __future__ import annotations

import argparse
import sys

from release import number


def main(argv: list[str]) -> int:
    """Do what the command line says; returns the exit code, 1 with a line for each thing that is wrong."""
    parser = argparse.ArgumentParser(prog="release", description=number.__doc__.split("\n", 1)[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("number", help="write the version of pyproject.toml into every other place that says it")
    one.add_argument("--check", action="store_true", help="only name the places that differ")
    words = parser.parse_args(argv)
    try:
        if words.check:
            wrong = list(number.differences())
            print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
            return 1 if wrong else 0
        changed = number.write()
        print(f"{number.number()}, written into {', '.join(changed) if changed else 'nothing: all places say it'}")
    except number.Wrong as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
