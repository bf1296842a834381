"""What a process that the Hub starts does before it becomes the user's server."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from hai_client.rank.identity import Account, become


def before_exec(home: Path, account: Account | None = None) -> Callable[[], None]:
    """A `preexec_fn`: become the account, if there is one, go to the home folder, heed Ctrl-C.

    A Hub that was started in the background ignores SIGINT, and what it starts inherits that: stopping a server
    would wait for the full time limit. The server outlives a Hub that is killed: the next one finds it again.
    """

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if account is not None:
            # As after a login: where the user may use sudo at a terminal of his, he may here.
            become(account, no_new_privs=False)
        os.chdir(home)

    return prepare


def fingerprint(pid: int) -> str | None:
    """A word that tells this process from any later one with the same number; None when there is none.

    It holds the machine's boot and the process's start, so it is also good after a restart of the machine.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    # The name in parentheses may hold anything; the fields behind it are plain. Start time is field 22.
    fields = stat.rpartition(")")[2].split()
    # A process that has ended may stay listed until somebody collects it.
    return None if fields[0] in "ZX" else f"{boot}:{fields[19]}"
