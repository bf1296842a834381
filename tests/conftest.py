"""Hooks for all tests.

Names and Hypothesis examples are the same in every process; the longest tests begin first; what
fails can be run again.
"""

import gc
import os
import re
import signal
import sys
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from hai_client.lean_imports import leave_out_address_checks

# Each worker imports JupyterHub when it collects.
leave_out_address_checks()
#: Hypothesis takes the same examples everywhere, so CI has no others. `HAI_EXAMPLES=10 pytest ...` tries new ones.
#: An example may take any time: on a busy machine its usual limit of 0.2 s fails tests that are right.
settings.register_profile("steady", derandomize=True, database=None, deadline=None)
settings.register_profile("searching", database=None, deadline=None)
settings.load_profile("searching" if "HAI_EXAMPLES" in os.environ else "steady")

# A shell may make background processes ignore these signals; the processes that tests start would inherit that.
for number, usual in (
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

TESTS = Path(__file__).parent
#: The longest tests by `--durations`, longest first. One that began last would keep all workers waiting.
LONGEST = (
    "integration/haienv/test_faults.py",
    "integration/replicas/test_takeover.py",
    "integration/replicas/test_restored.py",
    "integration/rehearsal/test_rehearse.py",
    "integration/replicas",
    "integration/hub",
    "integration/rank",
    "integration",
    "abuse",
    "e2e/test_browser.py",
    "e2e/test_spot.py",
    "e2e/test_reports.py",
    "e2e/test_recovery.py",
    "e2e/test_browser_environments.py",
    "e2e/test_interruption.py",
    "e2e/test_examples_notebook.py",
    "unit/service/scheduling/test_stateful.py",
    "unit/service/scheduling/test_chaos.py",
    "unit/service",
    "unit/sim",
)
#: Environment variables that the Makefile sets for one command alone.
NEEDED_AGAIN = ("PYTHONPATH", "HAI_TEST_FRAMEWORKS")
#: How a name shows a set, an address, and what gzip has compressed, in which there is the time.
UNSTABLE = re.compile(r"set\(\{| at 0x[0-9a-f]+|\\x1f\\x8b")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without looking for garbage: the tests stay to the end, and later looks leave them out."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """Remove the stores of the test, after its fixtures."""
    try:
        return (yield)
    finally:
        if stores := sys.modules.get("kit.stores"):
            stores.close_scratch_stores()


@cache
def rank_of(path: Path) -> int:
    """The index in LONGEST of the tests at `path`; for all other tests the length of LONGEST."""
    inside = path.relative_to(TESTS) if path.is_relative_to(TESTS) else Path()
    names = {str(inside), *map(str, inside.parents)}
    return next((rank for rank, name in enumerate(LONGEST) if name in names), len(LONGEST))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests first, and refuse names of tests that may differ between the workers of a run.

    Such names show a set, an address or the time.

    :raises pytest.UsageError: naming the first such test.
    """
    items.sort(key=lambda item: rank_of(item.path))
    for item in items:
        if UNSTABLE.search(item.nodeid):
            raise pytest.UsageError(f"the name of a test changes from run to run, give its case an id: {item.nodeid}")


@pytest.hookimpl(wrapper=True)
def pytest_unconfigure() -> Generator[None, object, object]:
    """Remove the folder of the stores: a worker's end calls nothing that was left for the end of the process."""
    try:
        return (yield)
    finally:
        if stores := sys.modules.get("kit.stores"):
            stores.remove_scratch_folder()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the command that runs the failed tests again, one word a line, to a file of the folder HAI_TEST_FAILED.

    Each pytest process writes a file of its own. `.ci/run` makes the folder and runs the commands.
    """
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    folder = os.environ.get("HAI_TEST_FAILED")
    if not folder or reporter is None or hasattr(session.config, "workeroutput"):
        return
    failed = {one.nodeid for kind in ("failed", "error") for one in reporter.stats.get(kind, [])}
    if failed:
        settings = [f"{name}={os.environ[name]}" for name in NEEDED_AGAIN if name in os.environ]
        words = ["env", *settings, sys.executable, "-m", "pytest", "-q", "--durations=20", *sorted(failed)]
        Path(folder, f"{os.getpid()}.command").write_text("\n".join(words) + "\n")
