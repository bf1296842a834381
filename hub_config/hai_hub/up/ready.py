"""Wait until the scheduling loop, the API and the Hub answer."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Final

from hai_client.errors import HaiError
from hai_hub.config.settings import API_PATH, HubSettings
from hai_hub.shared.api import own_platform
from hai_hub.shared.console import Interrupts, say
from hai_hub.shared.errors import WRONG_INPUT, UpError
from hai_hub.shared.logs import API_LOG, LOOP_LOG, tail
from hai_hub.up.restarter import Restarter

#: Seconds that a start may take; a loaded machine with a cold disk needs a minute.
LONGEST_S: Final = 180.0
#: Seconds after which `hai up` says for what it waits.
_SOON_S: Final = 10.0
_BETWEEN_S: Final = 0.05
#: Seconds that an answer may take. A process that is starting may accept a connection and answer later.
_PATIENCE_S: Final = 1.0
#: What the loop has found out about the GPUs of this machine that must be said where it is started.
_ABOUT_GPUS: Final = re.compile(r" W hai_scheduler\.adapters\.local\.gpus: (.*)")
#: Lines of a log that a start may have.
_MANY: Final = 1000
#: The path of the API through the proxy.
_HEALTH: Final = f"{API_PATH}/health"
_SERVICE_ENDED: Final = re.compile(r"Service hai exited with status (-?\d+)")


class Interrupted(Exception):
    """A signal came while the platform was starting."""


class StartupCheck:
    """Waits for the platform to start.

    Args:
        settings: Settings with the addresses of the processes.
        restarters: Restarters of the processes.
        interrupts: Counts signals, which end the wait.
    """

    def __init__(self, settings: HubSettings, restarters: Sequence[Restarter], interrupts: Interrupts) -> None:
        self._settings = settings
        self._restarters = restarters
        self._interrupts = interrupts
        self._began = time.monotonic()
        self._log = settings.log_dir / "hub.log"
        self._service_log = settings.log_dir / API_LOG
        self._from = self._log.stat().st_size if self._log.exists() else 0
        self._loop_log = settings.log_dir / LOOP_LOG
        self._loop_from = self._loop_log.stat().st_size if self._loop_log.exists() else 0
        self._service_from = self._service_log.stat().st_size if self._service_log.exists() else 0

    def wait(self) -> None:
        """Wait for the loop and the API, then for the Hub and for the route through its proxy to the API.

        Raises:
            UpError: A process does not start, or not in time; the error shows the end of its log.
            Interrupted: A signal came.
        """
        settings = self._settings
        if settings.service_apart:
            self._until("scheduling loop", f"on port {settings.loop_port}", lambda: loop_answers(settings))
            for said in _ABOUT_GPUS.findall(tail(self._loop_log, _MANY, since=self._loop_from)):
                say(f"  {said}")
        self._until("scheduler service", f"at {settings.api_url}", lambda: service_answers(settings))
        self._until(
            "JupyterHub", f"at {settings.url}", lambda: hub_answers(settings) and _answers(settings.url, _HEALTH)
        )

    def _until(self, what: str, where: str, is_there: Callable[[], bool]) -> None:
        told = False
        while not is_there():
            self._look()
            waited = time.monotonic() - self._began
            if waited > LONGEST_S:
                raise UpError(
                    f"{what} did not answer {where} within {LONGEST_S:.0f} s; the end of {self._log}",
                    detail=tail(self._log, since=self._from),
                )
            if waited > _SOON_S and not told:
                told = True
                say(f"  waiting until {what} answers {where}, {LONGEST_S:.0f} s at most; logs: {self._log.parent}")
            self._interrupts.sleep(_BETWEEN_S)
            if self._interrupts.count:
                raise Interrupted
        say(f"  {what} is up ({time.monotonic() - self._began:.1f} s)")

    def _look(self) -> None:
        """Restart processes that have ended. Raises UpError when a restart is of no use."""
        if not self._settings.service_apart:
            self._ask_the_hub()
        for restarter in self._restarters:
            restarter.tend()

    def _ask_the_hub(self) -> None:
        """Raise UpError if a service of the Hub ended because of wrong settings: the Hub would restart it endlessly."""
        ended = _SERVICE_ENDED.search(tail(self._log, _MANY, since=self._from))
        if ended is not None and int(ended.group(1)) == WRONG_INPUT:
            said = tail(self._service_log, since=self._service_from)
            raise UpError(said.rpartition("\n")[2].strip() or ended.group(), exit_code=WRONG_INPUT)


def service_answers(settings: HubSettings) -> bool:
    """Return whether the API answers at its own address, without the proxy."""
    return _answers(settings.api_url, "/health")


def loop_answers(settings: HubSettings) -> bool:
    """Return whether the scheduling loop is ready: it has ticked, or stands by for another loop."""
    return _answers(f"http://127.0.0.1:{settings.loop_port}", "/health/ready")


def hub_answers(settings: HubSettings) -> bool:
    """Return whether the Hub answers through its proxy; the proxy has no routes before the Hub is up."""
    return _answers(settings.url, "/hub/health")


def _answers(base: str, path: str) -> bool:
    try:
        own_platform(base, timeout_s=_PATIENCE_S).call("GET", path)
    except HaiError:
        return False
    return True
