"""One platform for all cases of a worker of pytest-xdist, and one file of the results of all workers."""

from __future__ import annotations

import importlib.metadata
import json
import platform as machine
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from e2e.conftest import Platform
from frameworks.alone import Run, forking
from frameworks.cases import Case
from frameworks.drive import ROOT, VENV, Driver, Outcome
from kit.groups import scheduling

RESULTS = ROOT / "test-results" / "frameworks.json"
#: The results of each case so far, by name.
KNOWN: dict[str, dict[str, Any]] = {}
ABSENT = f"{VENV.name} is not there: make test-frameworks installs the frameworks"


def versions(names: tuple[str, ...]) -> dict[str, str]:
    """Versions of packages of the frameworks' environment."""
    [site] = VENV.glob("lib/python3*/site-packages")
    found = {one.name.lower(): one.version for one in importlib.metadata.distributions(path=[str(site)])}
    return {name: found[name].partition("+")[0] for name in names}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A function that runs a script in processes that have PyTorch already."""
    with forking(tmp_path_factory.mktemp("printed")) as made:
        yield made


@pytest.fixture(scope="session")
def results() -> dict[str, dict[str, Any]]:
    """The results of the cases that this process has run."""
    KNOWN.clear()
    return KNOWN


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the results of the cases after all tests; a worker hands its results to the process that started it."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["frameworks"] = KNOWN
    elif KNOWN:
        RESULTS.parent.mkdir(exist_ok=True)
        before = json.loads(RESULTS.read_text())["cases"] if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps({"python": machine.python_version(), "cases": before | KNOWN}, indent=1) + "\n")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A scheduler that keeps all tests of a case, and all of one training, on one worker."""
    return scheduling(config, log, group_of)


def group_of(nodeid: str) -> str:
    """The name of the case of a test, or the file of tests of one training; any other test is a group by itself."""
    found = re.search(r"::test_a_case\[(.+)-\w+\]$|(test_profiles\.py)::", nodeid)
    return found[1] or found[2] if found else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the results of a worker; a crashed worker has none."""
    KNOWN.update(getattr(node, "workeroutput", {}).get("frameworks", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the measurements of this session."""
    for name, one in KNOWN.items():
        if "leave_s" in one:
            terminalreporter.write_line(
                f"{name:<20} {one['left'] or '-':<8} left in {one['leave_s']:5.2f} s: {one['job_s']:5.2f} s until it "
                f"had saved (itself {one['saving_s']:.3f} s), {one['own_end_s']:5.2f} s of its own until its end, "
                f"{one['overhead_s']:5.2f} s besides; "
                f"the platform's own part {one['platform_s']} s"
            )


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A platform of four nodes, for all cases of this process."""
    if not (VENV / ".installed").exists():
        pytest.skip(ABSENT)
    made = Platform(tmp_path_factory.mktemp("frameworks"), nodes=4)
    folder = tmp_path_factory.mktemp("work")
    try:
        made.start()
        yield Driver(made, folder)
    finally:
        made.end()


@pytest.fixture(scope="session")
def seen(driver: Driver, results: dict[str, dict[str, Any]]) -> Callable[[Case], Outcome]:
    """A function that returns the outcome of a case; the first call runs the case."""
    known: dict[str, Outcome | BaseException] = {}
    # As .ci/run has it: the time until a Python has ended is not what a user sees.
    short_ends = any(VENV.glob("lib/python3*/site-packages/hai_short_ends.pth"))

    def look(case: Case) -> Outcome:
        if case.name not in known:
            results[case.name] = {"versions": versions(case.packages), "short_ends": short_ends, "passed": []}
            try:
                known[case.name] = found = driver.run(case)
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 -- each check of the case shows it
                known[case.name] = error
            else:
                results[case.name] |= {
                    "left": found.left,
                    "leave_s": round(found.leave_s, 2),
                    "job_s": round(found.job_s, 2),
                    "own_end_s": round(found.own_end_s, 2),
                    "overhead_s": round(found.rest_s, 2),
                    "platform_s": None if found.platform_s is None else round(found.platform_s, 2),
                    "saving_s": found.saving_s(),
                }
        kept = known[case.name]
        if isinstance(kept, BaseException):
            raise kept
        return kept

    return look


@pytest.fixture
def passed(results: dict[str, dict[str, Any]]) -> Callable[[Case, str], None]:
    """Notes that a check of a case has passed."""
    return lambda case, check: results[case.name]["passed"].append(check)
