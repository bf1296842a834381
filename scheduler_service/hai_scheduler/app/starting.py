"""Starting while the database or the cluster cannot be reached: the service waits, logs why, and answers probes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

from hai_scheduler.app.listening import listen_at
from hai_scheduler.ports.errors import Temporary

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds that an attempt has before the service answers probes and logs that it waits.
PATIENCE: Final = 1.0
#: Seconds between attempts: the first pause, and the longest.
PAUSES: Final = (0.5, 10.0)
#: Seconds after which an attempt without an answer is cancelled, and seconds that it then has to clean up.
ATTEMPT: Final = 30.0
FAREWELL: Final = 10.0
#: Seconds after which the log repeats the same reason for waiting.
REMIND: Final = 60.0
_WAITS: Final = "The service is starting and waits for its database, or for the cluster: its log says why."


class _Live(RequestHandler):
    def get(self) -> None:
        self.write({"status": "live"})


class _NotYet(RequestHandler):
    def prepare(self) -> None:
        # Most starts do not wait, and the loop needs nothing else of the REST interface: a sixth of its start.
        from hai_scheduler.api.server import problems

        problem = problems.make("unavailable", _WAITS)
        self.set_status(problem.status)
        self.set_header("Content-Type", "application/problem+json")
        self.set_header("Retry-After", "5")
        self.finish(problem.model_dump_json(exclude_defaults=True))


class WaitingRoom:
    """The server on the service's port until the service itself is ready.

    It answers probes as live and not ready, so that JupyterHub or Kubernetes does not restart the process.
    """

    def __init__(self, *, address: str, port: int, setting: str, root: str) -> None:
        """Prepare the server for that address; `setting` chooses the port, `root` is the path above `/health`."""
        self._address, self._port, self._setting = address, port, setting
        live = (rf"{root}/health/live", _Live)
        self._server = HTTPServer(
            Application([live, (r".*", _NotYet)], log_function=_say_nothing), max_body_size=1024 * 1024
        )

    def open(self) -> None:
        """Begin to answer. Raises CannotListen."""
        listen_at(self._server, self._address, self._port, setting=self._setting)

    async def close(self) -> None:
        """Free the port for the service."""
        self._server.stop()
        await self._server.close_all_connections()


def _say_nothing(_: RequestHandler) -> None:
    """Log nothing: probes come every few seconds, and the log already says that the service waits."""


async def when_it_is_there(
    attempt: Callable[[], Awaitable[T]], room: WaitingRoom, stop: asyncio.Event, *, pauses: tuple[float, float] = PAUSES
) -> T | None:
    """Repeat `attempt` until it no longer raises Temporary; returns its result, or None once `stop` is set.

    Other errors are raised at once: wrong settings stay wrong. Attempts that hang are cancelled.
    """
    waiting = _Waiting(room)
    stopping = asyncio.ensure_future(stop.wait())
    pause = pauses[0]
    try:
        while not stop.is_set():
            trying = asyncio.ensure_future(attempt())
            try:
                done, _ = await asyncio.wait({trying, stopping}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    waiting.begin()
                    await asyncio.wait({trying, stopping}, timeout=ATTEMPT, return_when=asyncio.FIRST_COMPLETED)
                if trying.done():
                    return trying.result()
                if stop.is_set():
                    return None
                waiting.tell(f"there was no answer within {PATIENCE + ATTEMPT:.0f} s")
            except Temporary as error:
                waiting.tell(str(error))
            finally:
                await _let_go(trying)
            waiting.begin()
            await asyncio.wait({stopping}, timeout=pause)
            pause = min(pauses[1], pause * 2)
        return None
    finally:
        stopping.cancel()
        await waiting.end()


async def _let_go(trying: asyncio.Future[Any]) -> None:
    if not trying.done():
        trying.cancel()
        # A driver may ignore the cancellation while the database hangs.
        await asyncio.wait({trying}, timeout=FAREWELL)
    trying.add_done_callback(lambda ended: ended.cancelled() or ended.exception())


class _Waiting:
    """The log messages while the service waits, and whether its waiting room is open."""

    def __init__(self, room: WaitingRoom) -> None:
        self._room = room
        self._open = False
        self._told: tuple[str, float] | None = None

    def begin(self) -> None:
        if not self._open:
            self._room.open()
            self._open = True

    def tell(self, trouble: str) -> None:
        now = asyncio.get_running_loop().time()
        if self._told is None or self._told[0] != trouble or now - self._told[1] >= REMIND:
            self._told = (trouble, now)
            log.warning("the service cannot start yet and tries again until it can: %s", trouble)

    async def end(self) -> None:
        if self._open:
            await self._room.close()
        if self._told is not None:
            log.info("the waiting is over")


@contextmanager
def writable(what: str, path: object, error: type[Exception]) -> Iterator[None]:
    """Turn an OSError about the service's own file or folder into `error`, with a message that names the remedy."""
    try:
        yield
    except OSError as trouble:
        raise error(
            f"{what}: {path} cannot be written ({trouble.strerror or trouble}): let the service's user write there, "
            "or name another place"
        ) from None
