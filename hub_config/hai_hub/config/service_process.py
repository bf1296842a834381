"""How the Hub runs the processes of its services: noticed at once when one dies, gone when the Hub is gone.

JupyterHub looks after its services every 30 seconds and has no setting for that, nor for the log or for what happens
when the Hub itself is killed. This module is the one place that reaches into it.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

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

    #: By the name of the service.
    log_files: Mapping[str, Path] = MappingProxyType({})

    #: A descriptor of the process, readable when it has ended.
    _handle: int | None = None
    _began = 0.0
    #: Kept, or it might be thrown away before it is done.
    _telling: asyncio.Future[Any] | None = None

    def make_preexec_fn(self, name: str) -> Callable[[], None]:
        """Take over the original's change of account, if one is asked for."""
        original: Callable[[], None] | None = super().make_preexec_fn(name)
        prepare = before_exec(self.log_files.get(self._service_name))

        def both() -> None:
            if original is not None:
                original()
            prepare()

        return both

    def start_polling(self) -> None:
        """Look now and then, and at once when the kernel tells that the process has ended."""
        super().start_polling()
        try:
            self._handle = os.pidfd_open(self.pid)
        except OSError:
            # It has ended already, or the kernel is of another kind: the looks find out.
            return
        self._began = time.monotonic()
        asyncio.get_running_loop().add_reader(self._handle, self._ended)

    def stop_polling(self) -> None:
        """Look no more."""
        super().stop_polling()
        if self._handle is not None:
            asyncio.get_running_loop().remove_reader(self._handle)
            os.close(self._handle)
            self._handle = None

    def _ended(self) -> None:
        if self._handle is not None:
            asyncio.get_running_loop().remove_reader(self._handle)
        # One that cannot start is left to the looks, which are a second apart.
        if time.monotonic() - self._began >= self.poll_interval:
            self._telling = asyncio.ensure_future(self.poll_and_notify())


def watch_closely(logs: Mapping[str, Path]) -> None:
    """Let this Hub process start its services in this way.

    Args:
        logs: Files for the services' output, by name; of those that are not named it is the Hub's own.
    """
    _WatchedServiceSpawner.log_files = MappingProxyType(dict(logs))
    hub_service._ServiceSpawner = _WatchedServiceSpawner
