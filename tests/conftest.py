"""What holds for every test: its name is the same in every process, and so are the examples of its properties."""

import os
import re
import signal

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

UNSTABLE = re.compile(r"set\(\{| at 0x[0-9a-f]+")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse names that show a set or an address: they differ between workers, though only in some runs.

    :raises pytest.UsageError: naming the first such test.
    """
    for item in items:
        if UNSTABLE.search(item.nodeid):
            raise pytest.UsageError(f"the name of a test changes from run to run, give its case an id: {item.nodeid}")
