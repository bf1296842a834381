"""Which tests a worker of pytest-xdist runs one after the other, where that is not each file by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def scheduling(config: Any, log: Any, group_of: Callable[[str], str]) -> Any:
    """The scheduler that a conftest returns from `pytest_xdist_make_scheduler`: it keeps each group on one worker.

    The marks of `--dist loadgroup` do not work: pytest-xdist 3.8 writes them into ids that pytest 9 does not read.

    Args:
        config: As the hook has it.
        log: As the hook has it.
        group_of: The group of a test, by its id. A group that begins first in the order of collection is run first,
            with `--no-loadscope-reorder`.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return Groups(config, log)
