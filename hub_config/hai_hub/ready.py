"""Waiting until Hub and service answer."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from typing import Final

from hai_hub.api import Api, ApiError
from hai_hub.console import Interrupts, say
from hai_hub.errors import WRONG_INPUT, UpError
from hai_hub.logs import tail
from hai_hub.settings import API_PATH, HubSettings

#: Seconds that a start may take; a loaded machine with a cold disk needs a minute.
LONGEST_S: Final = 180.0
_BETWEEN_S: Final = 0.1
_SERVICE_ENDED: Final = re.compile(r"Service hai exited with status (-?\d+)")


class Interrupted(Exception):
    """Somebody does not want to wait any longer."""


class Readiness:
    """Looks at what is starting.

    Args:
        settings: Where everything listens.
        hub: The Hub's process.
        interrupts: Ends the wait.
    """

    def __init__(self, settings: HubSettings, hub: subprocess.Popen[bytes], interrupts: Interrupts) -> None:
        self._settings = settings
        self._hub = hub
        self._interrupts = interrupts
        self._began = time.monotonic()
        self._log = settings.log_dir / "hub.log"
        self._service_log = settings.log_dir / "scheduler.log"
        self._from = self._log.stat().st_size if self._log.exists() else 0
        self._service_from = self._service_log.stat().st_size if self._service_log.exists() else 0

    def wait(self) -> None:
        """Wait for the service, then for the Hub, which opens its door when the service is there.

        Raises:
            UpError: One of them ended, or it took too long; shows the end of the log.
            Interrupted: A signal came.
        """
        service = Api(self._settings.service_url + API_PATH, timeout=2)
        self._until("scheduler service", lambda: _answers(service, "/health"))
        hub = Api(self._settings.url, timeout=2)
        self._until("JupyterHub", lambda: _answers(hub, "/hub/health") and _answers(hub, API_PATH + "/health"))

    def _until(self, what: str, is_there: Callable[[], bool]) -> None:
        while not is_there():
            self._look()
            if time.monotonic() - self._began > LONGEST_S:
                message = f"{what} did not answer within {LONGEST_S:.0f} s; the end of {self._log}"
                raise UpError(message, detail=tail(self._log, since=self._from))
            self._interrupts.sleep(_BETWEEN_S)
            if self._interrupts.count:
                raise Interrupted
        say(f"  {what} is up ({time.monotonic() - self._began:.1f} s)")

    def _look(self) -> None:
        """Whether something has ended that should be starting."""
        ended = _SERVICE_ENDED.search(tail(self._log, 1000, since=self._from))
        if ended is not None:
            said = tail(self._service_log, since=self._service_from)
            if int(ended.group(1)) == WRONG_INPUT and (reason := said.rpartition("\n")[2].strip()):
                # The service says in one line what to change.
                raise UpError(reason, exit_code=WRONG_INPUT)
            message = f"the scheduler service ended with status {ended.group(1)}; the end of {self._service_log}"
            raise UpError(message, detail=said)
        if (status := self._hub.poll()) is not None:
            message = f"JupyterHub ended with status {status}; the end of {self._log}"
            raise UpError(message, detail=tail(self._log, since=self._from))


def _answers(api: Api, path: str) -> bool:
    try:
        api.get(path)
    except ApiError:
        return False
    return True
