"""Prepare a process of the Hub before it becomes a user's server."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from hai_client.linux.identity import Account, become


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
