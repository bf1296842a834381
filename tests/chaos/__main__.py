"""Kill everything at random while tasks run, and judge what the ranks wrote down."""

from __future__ import annotations

import argparse
import secrets
import shutil
import signal
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from chaos import platforms, report
from chaos.load import SHAPES
from chaos.run import Run, say
from chaos.strikes import STRIKES

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "test-results" / "chaos"


def main() -> int:
    """Run the command; returns 0 if every check held, 1 if one did not, 2 for wrong arguments."""
    words = _words()
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{words.on}-{words.seed}"
    home = Path(tempfile.mkdtemp(prefix="hai-chaos-"))
    say(f"chaos on {words.on} for {words.minutes:g} minutes, seed {words.seed}, in {home}")
    began = time.monotonic()
    run = Run(platforms.make(words.on, home, words.nodes), words.on, words.seed, words.minutes, _left_out(words))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: _end(run, number))
    try:
        outcome = run.go()
    except BaseException:
        say(f"the run itself failed; what was written down is in {home}")
        raise
    folder = RESULTS / stamp
    file = report.write(outcome, folder)
    if outcome.good:
        shutil.rmtree(home, ignore_errors=True)
    else:
        shutil.move(home, folder / "home")
    print(report.text(outcome))
    say(
        f"{'all held' if outcome.good else 'VIOLATED'} after {time.monotonic() - began:.0f} s: {file.relative_to(ROOT)}"
    )
    return 0 if outcome.good else 1


def _end(run: Run, number: int) -> None:
    """Handle a signal: the first one ends the strikes, and the records are judged; the second one ends the run."""
    if run.stopped.is_set():
        raise KeyboardInterrupt
    say(f"{signal.Signals(number).name}: no more strikes; once more ends it without a judgement")
    run.stopped.set()


def _left_out(words: argparse.Namespace) -> frozenset[str]:
    """The strikes and shapes to leave out: those of `--without`, and where `--only` names some, the others."""
    found = set(words.without)
    for kind in (set(SHAPES), {strike.name for strike in STRIKES}):
        if wanted := kind & set(words.only):
            found |= kind - wanted
    return frozenset(found)


def _words() -> argparse.Namespace:
    names = sorted({*SHAPES, *(strike.name for strike in STRIKES)})
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to strike (10)")
    parser.add_argument(
        "--on", choices=sorted(platforms.KINDS), default="sqlite", help="hai up, or two replicas (sqlite)"
    )
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000), help="what is struck when (any)")
    parser.add_argument("--nodes", type=int, default=5, help="simulated nodes (5)")
    parser.add_argument(
        "--only", action="append", default=[], choices=names, metavar="NAME",
        help="only these strikes, or only these shapes of tasks, by the names below; may be given again",
    )  # fmt: skip
    parser.add_argument(
        "--without", action="append", default=[], choices=names, metavar="NAME",
        help=f"leave out a strike or a shape of tasks; may be given again: {', '.join(names)}",
    )  # fmt: skip
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
