"""Try mutants: `python -m mutants [ROOM or ROOM/MODULE ...] [--sample N] [--seed S] [--again]`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from random import Random

import pytest

from mutants.operators import Mutant, mutants_of
from mutants.plugin import EXAMPLES, KILLED, STOPPED, Loop, Result

ROOT = Path(__file__).parents[2]
CORE = ROOT / "scheduler_service" / "hai_scheduler" / "core"
TESTS = ROOT / "tests" / "unit" / "core"
#: Changes that no test can notice, with the reasons.
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
RESULTS = ROOT / "build" / "mutants"
ROOMS = ("capacity", "planning", "ordering", "lifecycle")
NOTICED = {KILLED, STOPPED}


@dataclass
class Report:
    """Counts results, prints those that no test noticed, and how far it is."""

    total: int
    log: Path
    begun: float = field(default_factory=time.monotonic)
    done: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """Count the result, and store it."""
        self.done += 1
        path = result.mutant.path
        self.counts.setdefault(f"{path.parent.name}/{path.stem}", Counter())[result.what] += 1
        with self.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps({"mutant": str(result.mutant), "what": result.what, "test": result.test}) + "\n")
        if result.what not in NOTICED:
            print(f"{result.what}: {result.mutant}", flush=True)
        if self.done % 100 == 0:
            print(f"-- {self.done} of {self.total}, {time.monotonic() - self.begun:.0f} s", flush=True)

    def print(self) -> None:
        """Print the table: a line for each module, one for each room, one for all."""
        rows: dict[str, Counter[str]] = {}
        for module, counts in sorted(self.counts.items()):
            for name in (module, module.split("/")[0], "all"):
                rows.setdefault(name, Counter()).update(counts)
        print(f"\n{'':34}{'mutants':>8}{'noticed':>8}{'share':>8}")
        for name in sorted(rows, key=lambda name: (name == "all", name)):
            counts = rows[name]
            noticed = sum(counts[each] for each in NOTICED)
            print(f"{name:34}{counts.total():8}{noticed:8}{noticed / counts.total():8.1%}")
        print(f"in {time.monotonic() - self.begun:.0f} s")


def chosen(names: list[str], sample: int | None, seed: int) -> list[Mutant]:
    """The mutants of the rooms and modules that are named; of each module at most `sample` of them, by chance.

    Those that no test can notice are left out.

    Raises:
        SystemExit: no module has the name.
    """
    found: list[Mutant] = []
    known = equivalent()
    for name in names:
        paths = sorted((CORE / name).glob("*.py")) or [CORE / f"{name}.py"]
        for path in paths:
            if not path.exists():
                sys.exit(
                    f"there is no room or module {name} in {CORE}: name one as `capacity` or `capacity/group_capacity`"
                )
            mutants = [mutant for mutant in mutants_of(path) if _tried(mutant) and mutant.name not in known]
            if sample is not None and sample < len(mutants):
                # A generator of its own for each module, so that a sample does not depend on what else is tried.
                mutants = Random(f"{seed} {path.name}").sample(mutants, sample)
            found += sorted(mutants, key=lambda each: each.number)
    return found


def equivalent() -> set[str]:
    """The names of the mutants that no test can notice."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def _tried(mutant: Mutant) -> bool:
    """Whether the mutant is tried: not in code that runs on import, and not in a `check` of invariants, as asserts."""
    return bool(mutant.function) and mutant.function.rpartition(".")[2] != "check"


def unnoticed(log: Path) -> set[str]:
    """The mutants that no test noticed when they were last tried, by the log of results."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    last = {entry["mutant"]: entry["what"] for entry in map(json.loads, lines)}
    return {name for name, what in last.items() if what not in NOTICED}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("names", nargs="*", default=list(ROOMS), help=f"rooms or modules (default: {' '.join(ROOMS)})")
    parser.add_argument("--sample", type=int, help="mutants of each module, chosen by chance (default: all)")
    parser.add_argument("--seed", type=int, default=13, help="which sample (default: 13)")
    parser.add_argument(
        "--again", action="store_true", help="only those that no test noticed when they were last tried"
    )
    parser.add_argument("--budget", type=float, default=30, help="seconds of tests for a mutant (default: 30)")
    words = parser.parse_args()
    mutants = chosen(words.names, words.sample, words.seed)
    log = RESULTS / "results.jsonl"
    if words.again:
        before = unnoticed(log)
        mutants = [mutant for mutant in mutants if str(mutant) in before]
    if not mutants:
        sys.exit("there is nothing to try")
    RESULTS.mkdir(parents=True, exist_ok=True)
    report = Report(len(mutants), log)
    helpers = [path for path in TESTS.rglob("*.py") if not path.name.startswith("test_")]
    sources = sorted([*CORE.rglob("*.py"), *(ROOT / "tests").glob("*.py"), *helpers])
    key = blake2b(b"".join(path.read_bytes() for path in sources) + bytes([EXAMPLES])).hexdigest()
    loop = Loop(mutants, words.budget, RESULTS / "lines.json", key, report.add)
    options = ["-q", "-p", "no:xdist", "--capture=no", "--no-header", "--no-summary", str(TESTS)]
    code = pytest.main(options, plugins=[loop])
    report.print()
    sys.exit(code if code != pytest.ExitCode.NO_TESTS_COLLECTED else 0)


if __name__ == "__main__":
    main()
