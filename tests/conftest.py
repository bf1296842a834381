"""What holds for every test: its name is the same in every process, as pytest-xdist needs."""

import re

import pytest

UNSTABLE = re.compile(r"set\(\{| at 0x[0-9a-f]+")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse names that show a set or an address: they differ between workers, though only in some runs.

    :raises pytest.UsageError: naming the first such test.
    """
    for item in items:
        if UNSTABLE.search(item.nodeid):
            raise pytest.UsageError(f"the name of a test changes from run to run, give its case an id: {item.nodeid}")
