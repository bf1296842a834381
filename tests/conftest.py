"""What holds for every test: its name is the same in every process, and so are the examples of its properties."""

import os
import re
import signal
from pathlib import Path

import pytest
from hypothesis import settings

#: The same examples everywhere: what passes here passes in CI. `HAI_EXAMPLES=10 pytest ...` looks for new ones.
settings.register_profile("steady", derandomize=True, database=None)
settings.register_profile("searching", database=None)
settings.load_profile("searching" if "HAI_EXAMPLES" in os.environ else "steady")

# A shell that runs tests in the background may have them ignore these, and every process that they start with them.
for number, usual in (
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

TESTS = Path(__file__).parent
#: What takes longest, by `--durations`, the longest first: begun last, it would be waited for by all workers.
LONGEST = (
    "integration/replicas/test_takeover.py",
    "integration/replicas/test_restored.py",
    "integration/rehearsal/test_rehearsal.py",
    "integration/replicas",
    "integration/hub",
    "integration/rank",
    "integration",
    "abuse",
    "e2e/test_browser.py",
    "e2e/test_spot.py",
    "e2e/test_recovery.py",
    "e2e/test_interruption.py",
    "unit/service/scheduling/test_stateful.py",
    "unit/service/scheduling/test_chaos.py",
    "unit/service",
    "unit/sim",
)
UNSTABLE = re.compile(r"set\(\{| at 0x[0-9a-f]+")


def rank_of(path: Path) -> int:
    """Which of LONGEST a test is of; what is of none comes after all of them, in the order in which it was found."""
    inside = path.relative_to(TESTS) if path.is_relative_to(TESTS) else Path()
    names = {str(inside), *map(str, inside.parents)}
    return next((rank for rank, name in enumerate(LONGEST) if name in names), len(LONGEST))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, and refuse names that differ between workers, though only in some runs.

    Such names show a set or an address.

    :raises pytest.UsageError: naming the first such test.
    """
    items.sort(key=lambda item: rank_of(item.path))
    for item in items:
        if UNSTABLE.search(item.nodeid):
            raise pytest.UsageError(f"the name of a test changes from run to run, give its case an id: {item.nodeid}")
