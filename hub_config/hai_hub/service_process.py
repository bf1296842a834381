"""How the Hub runs the service's process: noticed within a second when it dies, gone when the Hub is gone.

JupyterHub looks after its services every 30 seconds and has no setting for that, nor for the log or for what happens
when the Hub itself is killed. This module is the one place that reaches into it.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

from jupyterhub.services import service as hub_service
from traitlets import Integer

_PR_SET_PDEATHSIG: Final = 1


def before_exec(log: Path | None) -> Callable[[], None]:
    """A `preexec_fn`: write to the log, heed Ctrl-C, end when the parent ends."""
    libc = ctypes.CDLL(None)
    parent = os.getpid()

    def prepare() -> None:
        # Inherited from whoever started the Hub in the background.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if log is not None:
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
        if hasattr(libc, "prctl"):
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)

    return prepare


class _WatchedServiceSpawner(hub_service._ServiceSpawner):
    """JupyterHub's own, with shorter times."""

    #: Seconds between two looks.
    poll_interval = Integer(1)
    #: Seconds after SIGINT, then after SIGTERM, before the next stronger signal.
    interrupt_timeout = Integer(10)
    term_timeout = Integer(5)

    log_file: Path | None = None

    def make_preexec_fn(self, name: str) -> Callable[[], None]:
        """Take over the original's change of account, if one is asked for."""
        original: Callable[[], None] | None = super().make_preexec_fn(name)
        prepare = before_exec(self.log_file)

        def both() -> None:
            if original is not None:
                original()
            prepare()

        return both


def watch_closely(log: Path | None) -> None:
    """Let this Hub process start its services in this way.

    Args:
        log: File for the services' output; None: the Hub's own.
    """
    _WatchedServiceSpawner.log_file = log
    hub_service._ServiceSpawner = _WatchedServiceSpawner
