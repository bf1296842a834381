"""Run the Hub's services: the Hub notices at once when one dies, and they end when the Hub is killed.

JupyterHub checks its services every 30 seconds. It has no setting for that interval, for log files of services, or
for what happens to them when the Hub itself is killed. So this module replaces its class that starts services.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jupyterhub.services import service as hub_service
from traitlets import Integer

from hai_client.linux.processes import end_with_parent


def before_exec(log: Path | None) -> Callable[[], None]:
    """Return a `preexec_fn` that sends output to `log`, makes Ctrl-C work, and asks for SIGTERM when the parent ends.

    Args:
        log: File that the process appends its output to; None: the output stays as inherited.
    """
    parent = os.getpid()

    def prepare() -> None:
        # A shell that starts the Hub in the background makes it ignore SIGINT, and children inherit that.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if log is not None:
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
        end_with_parent(signal.SIGTERM, parent)

    return prepare


class _WatchedServiceSpawner(hub_service._ServiceSpawner):
    """JupyterHub's spawner of services, with shorter times, log files, and a pidfd to see the end of the process."""

    #: Seconds between two polls.
    poll_interval = Integer(1)
    #: Seconds after SIGINT, then after SIGTERM, before the next stronger signal.
    interrupt_timeout = Integer(10)
    term_timeout = Integer(5)

    log_files: Mapping[str, Path] = MappingProxyType({})  #: Log files by the name of the service.

    _handle: int | None = None  #: A pidfd: it becomes readable when the process has ended.
    _began = 0.0
    #: Kept here because asyncio holds only weak references: the task might be collected before it is done.
    _telling: asyncio.Future[Any] | None = None

    def make_preexec_fn(self, name: str) -> Callable[[], None]:
        """Return a function that runs JupyterHub's `preexec_fn`, if it has one, and then that of `before_exec`."""
        original: Callable[[], None] | None = super().make_preexec_fn(name)
        prepare = before_exec(self.log_files.get(self._service_name))

        def both() -> None:
            if original is not None:
                original()
            prepare()

        return both

    def start_polling(self) -> None:
        """Start JupyterHub's polling, and also check at once when the kernel reports the end of the process."""
        super().start_polling()
        try:
            self._handle = os.pidfd_open(self.pid)
        except OSError:
            # The process has ended already, or the kernel has no pidfd: polling notices the end.
            return
        self._began = time.monotonic()
        asyncio.get_running_loop().add_reader(self._handle, self._ended)

    def stop_polling(self) -> None:
        """Stop polling, and close the pidfd."""
        super().stop_polling()
        if self._handle is not None:
            asyncio.get_running_loop().remove_reader(self._handle)
            os.close(self._handle)
            self._handle = None

    def _ended(self) -> None:
        if self._handle is not None:
            asyncio.get_running_loop().remove_reader(self._handle)
        # A service that fails at its start is left to polling, so that it is not started again in a tight loop.
        if time.monotonic() - self._began >= self.poll_interval:
            self._telling = asyncio.ensure_future(self.poll_and_notify())


def watch_closely(logs: Mapping[str, Path]) -> None:
    """Let this Hub process start its services as this module describes.

    Args:
        logs: Log file by name of the service; a service without one writes to the Hub's own output.
    """
    _WatchedServiceSpawner.log_files = MappingProxyType(dict(logs))
    hub_service._ServiceSpawner = _WatchedServiceSpawner
