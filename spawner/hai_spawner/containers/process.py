"""Prepare a process of the Hub before it becomes a user's server, and identify it later."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from hai_client.rank.identity import Account, become


def before_exec(home: Path, account: Account | None = None) -> Callable[[], None]:
    """Return a `preexec_fn` that changes to the account, if there is one, and to the home folder, and enables SIGINT.

    A Hub that was started in the background ignores SIGINT, and its children inherit that: stopping a server would
    take the whole timeout. The server outlives a Hub that is killed: the next Hub finds it again.
    """

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if account is not None:
            # As after a login: a user who may use sudo in a terminal of this machine may use it here too.
            become(account, no_new_privs=False)
        os.chdir(home)

    return prepare


def fingerprint(pid: int) -> str | None:
    """Return a text that identifies a process even if its pid is used again; None if there is no such process.

    The text holds the boot id and the start time of the process, so it also works after a restart of the machine.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    # The name in parentheses may hold anything; the fields behind it are plain. Start time is field 22.
    fields = stat.rpartition(")")[2].split()
    # A process that has ended stays listed as a zombie until its parent collects it.
    return None if fields[0] in "ZX" else f"{boot}:{fields[19]}"
