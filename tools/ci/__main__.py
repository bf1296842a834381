"""Everything that must pass before a change lands. Use: .ci/run [--list | --only NAME...]."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time

from ci import again, kubernetes, machine, programs, table
from ci.parts import Run, finish, only, say

LOGS = machine.ROOT / "test-results" / "ci"
SETTINGS = LOGS / "kubernetes.settings"


def main(words: list[str]) -> int:
    """Return the status: 0 if all that could be done here has passed."""
    os.chdir(machine.ROOT)
    # Whatever asks for the end: all that was started is interrupted as by Ctrl-C, and cleans up. What was started with
    # this signal ignored would not hear it.
    signal.signal(signal.SIGINT, _leave)
    signal.signal(signal.SIGTERM, _leave)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _leave)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    # What parts do: the table has them as commands, since each of them is a process that can be interrupted.
    match words:
        case ["again", *command]:
            return again.run(command)
        case ["programs"]:
            return programs.install()
        case ["kubernetes", verb, settings]:
            return kubernetes.main(verb, machine.ROOT / settings)
    parser = argparse.ArgumentParser(prog=".ci/run", description="Everything that must pass before a change lands.")
    parser.add_argument("--list", action="store_true", help="print the parts, what each comes after and what it needs")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="do these parts alone")
    return run(parser.parse_args(words))


def run(options: argparse.Namespace) -> int:
    """Do the parts that are asked for."""
    began = time.monotonic()
    machine.set_up()
    frameworks = table.frameworks()
    parts = table.table(SETTINGS, frameworks)
    if options.list:
        for part in parts:
            needs = ", ".join([*part.needs, *(f"({thing})" for thing in part.uses)])
            say(f"{part.name:20} after: {', '.join(part.after) or '-'}; needs: {needs or '-'}")
        return 0
    if unknown := set(options.only or ()) - {part.name for part in parts}:
        say(f"There is no part {', '.join(sorted(unknown))}: .ci/run --list has their names")
        return 2
    table.keep(frameworks)
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    with machine.in_memory():
        try:
            return Run(only(parts, options.only) if options.only else parts, LOGS, machine.lacks).go()
        finally:
            kubernetes.down(SETTINGS)
            took = int(time.monotonic() - began)
            say(f"== .ci/run ended after {took // 60} min {took % 60} s")


def _leave(number: int, _: object) -> None:
    finish()
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
