"""The table of docs/frameworks.md, from what the tests have written: `make frameworks-table`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frameworks.cases import CASES, RESUMES, WORD, Case

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "frameworks.md"
RESULTS = ROOT / "test-results" / "frameworks.json"
BEGIN, END = "<!-- from here on written by make frameworks-table -->\n", "<!-- to here -->\n"
HEAD = (
    "way",
    "tried with",
    "goes on at the right step",
    "what is said of its saving",
    "leaves in",
    "of that, saving",
    "after that",
)
SAID = {
    "saved": "saved, and it had",
    "unknown": "left by itself, nothing known to be saved, and so it was",
    "ended": "ended, nothing saved after the notice, and so it was",
}


def rows(results: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """A row for each case.

    Raises:
        KeyError: A case was not run.
    """
    return [row(case, results[case.name]) for case in CASES]


def row(case: Case, found: Mapping[str, Any]) -> tuple[str, ...]:
    """The row of a case, as texts."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    passed = found["passed"]
    resumes = ("begins again" if case.from_start else "yes") if RESUMES in passed else f"not yet{why(case, RESUMES)}"
    word = SAID[found["left"]] if WORD in passed else f"not yet{why(case, WORD)}"
    if RESUMES not in passed:
        return case.title, versions or "-", resumes, word, "-", "-", "-"
    times = (found["leave_s"], found["job_s"], found["leave_s"] - found["job_s"])
    return case.title, versions or "-", resumes, word, *(f"{time:.1f} s" for time in times)


def why(case: Case, check: str) -> str:
    """What the platform lacks for a check to pass."""
    return f": {case.missing[check]}" if check in case.missing else ": it failed"


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The table in Markdown."""
    lines = [HEAD, ("---",) * len(HEAD), *rows(results)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def within(page: str) -> str:
    """The part of the page that is written by this program.

    Raises:
        ValueError: The page has no such part.
    """
    found = re.search(re.escape(BEGIN) + "(.*?)" + re.escape(END), page, re.DOTALL)
    if found is None:
        raise ValueError(f"{PAGE.name} lacks the line {BEGIN.strip()!r} or {END.strip()!r}; put them back")
    return found[1]


def main() -> int:
    """Write the table into the page."""
    if not RESULTS.exists():
        print(f"{RESULTS} is not there: make test-frameworks writes it", file=sys.stderr)
        return 1
    page = PAGE.read_text(encoding="utf-8")
    results = json.loads(RESULTS.read_text(encoding="utf-8"))["cases"]
    if any(found.get("short_ends") for found in results.values()):
        print(f"{RESULTS} is of .ci/run, where a Python ends sooner: run make test-frameworks", file=sys.stderr)
        return 1
    missing = [case.name for case in CASES if case.name not in results]
    if missing:
        print(f"{RESULTS} knows nothing of {', '.join(missing)}: run make test-frameworks whole", file=sys.stderr)
        return 1
    old = within(page)
    PAGE.write_text(page.replace(BEGIN + old + END, BEGIN + table(results) + END), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
