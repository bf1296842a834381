"""The pytest plugin that takes the place of the loop over tests: it collects them once, and forks for each mutant.

A child process puts its mutant in and runs tests until one fails. The parent runs no test, so that nothing that a test
remembers of the unchanged code is in a child.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from mutants.operators import Mutant
from mutants.replaced import Functions, functions_of, put
from mutants.trace import Line, Tracer

#: The most examples that Hypothesis makes for a property. It does not shrink: one failure is enough.
EXAMPLES = 15
#: Tests that plan all recorded clusters only to look at the record itself.
OF_THE_RECORD = ("test_the_record_is_large_and_reaches_the_corners", "test_a_plan_can_be_shown_whole")
#: The tests that compare with recorded decisions notice much: they begin as if they had noticed this number of mutants.
RECORDED, AHEAD = "test_recorded_decisions", 8
#: A test is stopped when it takes longer than this, in seconds of the processor, and ten times its usual time.
PATIENCE_S = 5.0
#: The most memory that a mutant may take: bytes.
MEMORY = 3 << 30

KILLED, SURVIVED, STOPPED, UNCOVERED = "killed", "survived", "stopped", "no test runs it"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a mutant: one of the words above; `test` is the one that noticed it."""

    mutant: Mutant
    what: str
    test: str = ""


@dataclass(slots=True)
class Test:
    """A test, and what is known of it: its lines, its time in seconds, and how often it ran on a mutant and failed."""

    item: pytest.Item
    seconds: float = 0.0
    runs: int = 0
    kills: int = 0

    @property
    def score(self) -> float:
        """The smaller, the sooner it should run: seconds for each mutant that it can be expected to kill."""
        return (self.seconds + 0.002) * (self.runs + 5) / (self.kills + 0.2)


@dataclass
class Loop:
    """The loop over mutants.

    Attributes:
        mutants: What to try.
        budget: How many seconds of tests a mutant is tried with at most.
        cache: The file that keeps which test runs which line.
        key: What the content of the cache follows from, beside each test's own file.
        told: Called with each result.
    """

    mutants: Sequence[Mutant]
    budget: float
    cache: Path
    key: str
    told: Callable[[Result], None]
    tests: list[Test] = field(default_factory=list)
    by_line: dict[Line, set[int]] = field(default_factory=dict)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try every mutant instead of running the tests."""
        items = [item for item in session.items if item.name not in OF_THE_RECORD]
        for item in items:
            _bound(item)
        self.tests = [Test(item, kills=AHEAD if item.path.stem == RECORDED else 0) for item in items]
        self._learn()
        functions = functions_of({mutant.path for mutant in self.mutants})
        shared = mmap.mmap(-1, 8)
        for mutant in self.mutants:
            self.told(self._try(mutant, functions, shared))
        return True

    # -- what is known of the tests -------------------------------------------------------------------

    def _learn(self) -> None:
        """Read from the cache, or find out, which test runs which line and how long each takes."""
        known = json.loads(self.cache.read_text()) if self.cache.exists() else {}
        tests = known.get("tests", {}) if known.get("key") == self.key else {}
        files = {test.item.path for test in self.tests}
        digests = {path: blake2b(path.read_bytes(), digest_size=8).hexdigest() for path in files}
        news = [test for test in self.tests if tests.get(test.item.nodeid, {}).get("of") != digests[test.item.path]]
        if news:
            print(f"-- finding out which lines {len(news)} tests run", flush=True)
            self._in_child(lambda: self._write_down(news, tests, digests))
            tests = json.loads(self.cache.read_text())["tests"]
        for number, test in enumerate(self.tests):
            entry = tests[test.item.nodeid]
            test.seconds = entry["seconds"]
            for file, lines in entry["lines"].items():
                for line in lines:
                    self.by_line.setdefault((file, line), set()).add(number)

    def _write_down(self, news: list[Test], tests: dict[str, Any], digests: dict[Path, str]) -> None:
        tracer = Tracer({str(path) for path in self.mutants[0].path.parents[1].glob("*/*.py")})
        for test in news:
            ran, took = tracer.run(lambda test=test: _must_pass(test.item))  # type: ignore[misc]
            lines: dict[str, list[int]] = {}
            for file, line in sorted(ran):
                lines.setdefault(file, []).append(line)
            entry = {"of": digests[test.item.path], "seconds": took, "lines": lines}
            tests[test.item.nodeid] = entry
        self.cache.parent.mkdir(parents=True, exist_ok=True)
        self.cache.write_text(json.dumps({"key": self.key, "tests": tests}))

    def _in_child(self, does: Callable[[], None]) -> None:
        pid = os.fork()
        if pid == 0:
            try:
                does()
            except BaseException as error:  # noqa: BLE001 - the parent cannot see it
                print(error, file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status:
            raise pytest.UsageError("the tests fail without a mutant")

    # -- one mutant -----------------------------------------------------------------------------------

    def _try(self, mutant: Mutant, functions: Functions, shared: mmap.mmap) -> Result:
        chosen = self._chosen(mutant)
        if not chosen:
            return Result(mutant, UNCOVERED)
        shared[:8] = (0).to_bytes(8, "little")
        pid = os.fork()
        if pid == 0:
            os._exit(_child(mutant, functions, [self.tests[each] for each in chosen], shared))
        _, status = os.waitpid(pid, 0)
        last = int.from_bytes(shared[:8], "little")
        code = os.waitstatus_to_exitcode(status)
        for each in chosen[: last + 1]:
            self.tests[each].runs += 1
        if code == 0:
            return Result(mutant, SURVIVED)
        if code == 3:
            return Result(mutant, UNCOVERED)
        killer = self.tests[chosen[last]]
        killer.kills += 1
        return Result(mutant, KILLED if code == 1 else STOPPED, killer.item.nodeid)

    def _chosen(self, mutant: Mutant) -> list[int]:
        """The tests that run a line of the change, the most promising first, as many as the budget allows."""
        file = str(mutant.path)
        found = set().union(*(self.by_line.get((file, line), ()) for line in range(mutant.line, mutant.end + 1)))
        ordered = sorted(found, key=lambda number: self.tests[number].score)
        chosen, seconds = [], 0.0
        for number in ordered:
            seconds += self.tests[number].seconds
            if seconds <= self.budget:
                chosen.append(number)
        return chosen


def _child(mutant: Mutant, functions: Functions, tests: list[Test], shared: mmap.mmap) -> int:
    """Run the tests on the mutant. Returns 0: none failed, 1: one did, 3: the mutant's function does not live here."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        if not put(mutant, functions):
            return 3
        for number, test in enumerate(tests):
            shared[:8] = number.to_bytes(8, "little")
            signal.setitimer(signal.ITIMER_PROF, PATIENCE_S + 10 * test.seconds)
            if not _passes(test.item):
                return 1
    except BaseException:  # noqa: BLE001 - whatever a mutant raises, it is noticed
        return 1
    return 0


def _passes(item: pytest.Item) -> bool:
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def _must_pass(item: pytest.Item) -> None:
    for report in runtestprotocol(item, log=False, nextitem=None):
        if report.failed:
            raise AssertionError(f"{item.nodeid} fails without a mutant: {report.longrepr}")


def _bound(item: pytest.Item) -> None:
    """Let a property make fewer examples, and not shrink them."""
    from hypothesis import Phase, settings  # not sooner: pytest wants to import its plugins itself

    made = getattr(item, "obj", None)
    old = getattr(made, "_hypothesis_internal_use_settings", None)
    if old is not None:
        phases = (Phase.explicit, Phase.generate)
        made._hypothesis_internal_use_settings = settings(  # type: ignore[union-attr]
            old, max_examples=min(old.max_examples, EXAMPLES), phases=phases, deadline=None
        )
