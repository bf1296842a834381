"""Settings of the cluster that is this machine."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from hai_scheduler.adapters.local.accounts import Accounts
from hai_scheduler.adapters.local.nodes import LocalNode


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """Settings of a local cluster. Sizes are bytes, lengths of time are seconds."""

    #: The folder of all runs; only this process's user may read it.
    runs_dir: Path
    nodes: tuple[LocalNode, ...]
    #: The URL at which supervisors and jobs reach the service, without a slash at its end.
    api_url: str
    #: The interpreter of supervisors; `hai_client` must be importable in it.
    python: str = field(default=sys.executable)
    #: Folders that come first on a task's PATH: the platform's own programs.
    path_prefix: tuple[str, ...] = ()
    #: Between SIGTERM and SIGKILL.
    term_wait_s: float = 10.0
    #: Whether other services use the folder too: then it is read again at every look.
    shared: bool = False
    #: The accounts of users; None: all tasks run as this process's user.
    accounts: Accounts | None = None
    log_max_bytes: int = 64 * 1024 * 1024
    log_parts: int = 8
