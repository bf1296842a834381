"""The one tornado handler of the interface: finds the route, finds out who asks, reads the body, answers.

The body is read as it arrives, so that a body that is too large is thrown away and not kept in memory. A refusal that
is known before the whole body has arrived is sent after it: a client that is still sending would not read the answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any, Final, TypeVar

from pydantic import BaseModel
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, stream_request_body

from hai_client import skew
from hai_client.version import VERSION_HEADER
from hai_scheduler import __version__
from hai_scheduler.api.server import problems
from hai_scheduler.api.server.auth import Auth, HubHandler, address, has_scope, log_in
from hai_scheduler.api.server.bodies import ArrivingBody, read_query
from hai_scheduler.api.server.encoded import Encoded
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.limits import HELD_BACK, Limits, Pass
from hai_scheduler.api.server.metrics import Metrics
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.api.server.problems import Refused
from hai_scheduler.api.server.route import OPEN, RUN, Answer, Arriving, Ask, Pieces, Route, RouteIndex, Stream, Text
from hai_scheduler.api.server.streaming import StreamSender, cut_off, flush_in_time, slow_down
from hai_scheduler.api.server.user_book import UserBook
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.values import adapter_of
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.effort import Counted, Effort, working_on
from hai_scheduler.sentences.catalogue import preferred
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import TooMany

log = logging.getLogger(__name__)

#: `Retry-After` of answers with the code `unavailable`, in seconds.
RETRY_AFTER: Final = 1
#: How many bytes of its body delay a refusal by another second, and by how many seconds at most.
HELD_BYTES: Final = 256 * 1024
HELD_MOST: Final = 4.0

_T = TypeVar("_T")


class _EveryMethod(tuple[str, ...]):
    """Contains every method: tornado would refuse an unknown one at once, while its body is still arriving."""

    __slots__ = ()

    def __contains__(self, _method: object) -> bool:
        return True


@stream_request_body
class Endpoint(HubHandler):
    """Handles every route of the table."""

    SUPPORTED_METHODS = _EveryMethod()

    def initialize(  # type: ignore[override]  # tornado hands on what the routing rule says
        self, *, auth: Auth, table: RouteIndex, platform: Platform, users: UserBook, limits: Limits
    ) -> None:
        """Take the arguments of the routing rule; tornado calls this."""
        super().initialize(auth=auth)
        self.route: Route | None = None
        self._table, self._platform, self._users, self._limits = table, platform, users, limits
        #: The request's place among those of its client, and whether work on it has begun.
        self._pass: Pass | None = None
        self._begun = False
        self._path: dict[str, str] = {}
        self._who: Caller | RunId | None = None
        self._body = ArrivingBody(self.request.headers)
        self._refusal: Exception | None = None
        #: What takes the body of a route that uses it up while it arrives.
        self._arriving: Arriving | None = None
        self._work: asyncio.Future[Any] | None = None
        self._gone = False
        #: What the request costs, and whose it is.
        self._effort = Effort("")
        self._aborting: asyncio.Future[None] | None = None
        #: Whether a refusal was delayed already.
        self._held = False
        self._began = time.monotonic()

    # -- before the body --------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Find the route and the caller. A refusal is kept until the body has arrived."""
        with working_on(self._effort):
            await Counted(self._prepare(), self._effort)

    async def _prepare(self) -> None:
        connection: Any = self.request.connection
        connection.set_max_body_size(2**62)  # `data_received` is the limit, and answers
        try:
            self.route, self._path = self._table.find(self.request.method or "", self.request.path)
            self._body.check_length(self.route.most)
            self._effort.client = client = await self._identify(self.route)
            # A body that is still arriving counts already: a client's unfinished bodies are limited like requests.
            self._pass = self._limits.arrive(self.route.budget, client, size=self._body.length)
            if self.route.begin is not None:
                # The work of such a request is its body: it has its turn before that is read.
                await self._pass.begin()
                self._arriving = await self.route.begin(self._ask(self.route, Nothing()))
        except Exception as error:  # noqa: BLE001 - every error has an answer, and `_refuse` logs ours
            self._refusal = error
            if getattr(error, "code", "") == "too_many":
                # Before the body, which is not read meanwhile: it will be thrown away.
                await self._hold_back(self._body.length)
            if self.request.method not in HubHandler.SUPPORTED_METHODS:
                # tornado next calls the method named like the HTTP method: a client must not choose which.
                self.request.method = "OTHER"
            if not self._body.is_worth_waiting():
                # The connection cannot be used again: the body is still arriving.
                self._refuse(error, close=True)

    async def _identify(self, route: Route) -> str:
        """Find out who asks; return the name of the client whose budget the request counts for. Raises Refused."""
        if route.access == OPEN:
            return address(self)
        if route.access == RUN:
            self._who = self.auth.run(self)
            if self._who != self._path["run_id"]:
                raise Refused("forbidden", "This token speaks for another run.")
            self._platform.runs.supervisors.hear(self._who, self.request.headers.get(VERSION_HEADER))
            # However many runs a user has, and however long ago they ended: their ranks share one budget.
            return await self._platform.runs.registry.user_of(self._who) or ""
        caller = await log_in(self, self._limits)
        _check_scope(route, caller)
        _check_version(self.request.headers.get(VERSION_HEADER))
        await self._users.see(caller)
        say = preferred(self.request.headers.get("Accept-Language", ""))
        self._who = replace(caller, address=address(self), say=say)
        return caller.name

    # -- the body ---------------------------------------------------------------------------------

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Keep a piece of the body, or use it up, unless the request is refused already."""
        if self._arriving is not None and self._refusal is None:
            return self._use_up(self._arriving, chunk)
        try:
            self._body.take(chunk, keep=self._refusal is None)
        except Refused as refused:
            self._refusal = refused
        if self._refusal is not None and self._body.is_endless and not self._finished:
            self._refuse(self._refusal, close=True)
        return None

    async def _use_up(self, arriving: Arriving, chunk: bytes) -> None:
        """Hand a piece on; no further one is read from the connection before that is done."""
        try:
            self._body.count(chunk)
            with working_on(self._effort):
                await Counted(arriving.take(chunk), self._effort)
        except Exception as error:  # noqa: BLE001 - every error has an answer, and `_refuse` logs ours
            self._refusal = error
            await arriving.abort()

    # -- after the body ---------------------------------------------------------------------------

    async def get(self) -> None:
        """Answer the request, of any method: the table has checked that the route has this method."""
        with working_on(self._effort):
            await Counted(self._answer(), self._effort)

    async def _answer(self) -> None:
        route, place = self.route, self._pass
        if self._refusal is not None or route is None or place is None:
            self._give_back()
            await self._refuse_in_time(self._refusal or HTTPError(404))
            return
        self._begun = True
        # A body without a Content-Length has not been counted yet.
        place.charge_size(self._body.unannounced)
        try:
            if self._arriving is None:
                await self._while_there(place.begin)
            answer = await self._call(route)
            await self._send(route, answer)
        except StreamClosedError:
            self._gone = True
        except asyncio.CancelledError:
            if not self._gone:
                raise
        except Exception as error:  # noqa: BLE001 - every error has an answer, and `_refuse` logs ours
            self._give_back()
            await self._refuse_in_time(error)
        finally:
            self._give_back()

    head = post = put = delete = patch = options = other = get

    async def _call(self, route: Route) -> Answer:
        ask = self._ask(route, self._body.read(route) if self._arriving is None else self._arriving)
        return await (self._while_there(lambda: route.call(ask)) if route.waits else route.call(ask))

    def _ask(self, route: Route, body: Any) -> Ask[Any, Any]:
        return Ask(
            platform=self._platform,
            who=self._who,
            path=self._path,
            query=read_query(route.query, self.request.query_arguments),
            body=body,
            headers=self.request.headers,
            hub_groups=self.auth.groups.names,
            meet=self._meet,
        )

    async def _meet(self, names: Collection[str] | None) -> None:
        if isinstance(self._who, Caller) and self._who.admin:
            await self._users.meet(await self.auth.users(names))

    async def _while_there(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do the work, and cancel it when the client goes away."""

        async def counted() -> _T:
            result: _T = await Counted(work(), self._effort)
            return result

        self._work = asyncio.ensure_future(counted())
        if self._gone:
            self._work.cancel()
        result: _T = await self._work
        return result

    def _give_back(self) -> None:
        """Free the request's place for another request of its client, who pays for what was computed."""
        if self._pass is not None:
            self._pass.charge_work(self._effort.take())
            self._pass.end()

    def _give_up(self) -> None:
        """Let go of a body that did not arrive as a whole; after its end that does nothing."""
        arriving, self._arriving = self._arriving, None
        if arriving is not None:
            self._aborting = asyncio.ensure_future(arriving.abort())

    def on_finish(self) -> None:
        """Free the request's place after the answer; for a request that was cut off nothing else does."""
        self._give_back()
        self._give_up()

    def on_connection_close(self) -> None:
        """Cancel the work: the client has gone away. Work that has begun keeps its place until it has ended."""
        super().on_connection_close()
        self._gone = True
        self._give_up()
        if not self._begun:
            self._give_back()
        if self._work is not None:
            self._work.cancel()

    async def _send(self, route: Route, answer: Answer) -> None:
        self.set_status(route.status)
        match answer:
            case None:
                self.set_status(204)
                self.clear_header("Content-Type")
            case Stream() if self.request.method == "HEAD":
                await answer.batches.aclose()
                self.set_header("Content-Type", "text/event-stream")
            case Stream():
                await self._stream(answer)
                return
            case Text():
                self.set_header("Content-Type", answer.content_type)
                self._write_page(answer.body)
            case Pieces():
                await self._pieces(answer)
            case Encoded():
                self.set_header("Content-Type", "application/json")
                self.set_header("Vary", "Accept-Encoding")
                packed = answer.packed if "gzip" in self.request.headers.get("Accept-Encoding", "") else None
                if packed is not None:
                    self.set_header("Content-Encoding", "gzip")
                self._write_page(answer.body if packed is None else packed)
            case BaseModel():
                self.set_header("Content-Type", "application/json")
                if route.location is not None:
                    self.set_header("Location", self._table.prefix + route.location.format_map(dict(answer)))
                self._write_page(answer.model_dump_json().encode())
            case _:
                self.set_header("Content-Type", "application/json")
                self._write_page(adapter_of(type(answer)).dump_json(answer, by_alias=True))
        await self.finish()

    def _write_page(self, body: bytes) -> None:
        """Write an answer, which costs its reader what it has, not what was asked for."""
        if self._pass is not None:
            self._pass.charge_size(len(body))
        self.write(body)

    # -- streams ----------------------------------------------------------------------------------

    async def _stream(self, stream: Stream) -> None:
        try:
            if self.route is not None and self.route.budget is not Kind.STREAM:
                # The request was admitted as a page; streams, which stay open, have another budget.
                self._give_back()
                client = self._who.name if isinstance(self._who, Caller) else ""
                self._pass = self._limits.arrive(Kind.STREAM, client)
                await self._pass.begin()
        except Refused:
            await stream.batches.aclose()
            raise
        sender = StreamSender(self, self._pass, self._effort, self._platform.world.clock, self._still_may)
        self._platform.prometheus.stream_opened()
        try:
            await self._while_there(lambda: sender.send(stream))
        finally:
            self._platform.prometheus.stream_closed()
        await self.finish()

    async def _pieces(self, answer: Pieces) -> None:
        """Send pieces as they are made, each when the one before it has been read."""
        async with aclosing(answer.pieces) as pieces:
            self.set_header("Content-Type", answer.content_type)
            self.set_header("Content-Disposition", f'attachment; filename="{answer.file_name}"')
            if self.request.method == "HEAD":
                return
            async for piece in pieces:
                self.write(piece)
                await flush_in_time(self)
                await slow_down(self._pass, self._effort, self._platform.world.clock, len(piece))

    async def _still_may(self) -> bool:
        """Whether the reader of a stream is the same user as before, with the same rights. Raises Refused: 401, 403.

        A reader whose rights have changed must open the stream again, because rights decide which messages it gets.
        """
        if not isinstance(self._who, Caller) or self.route is None:
            return True
        try:
            caller = await self.auth.again(self)
        except Refused as refused:
            if refused.code == "unavailable":
                return True  # while the Hub restarts, readers keep their rights
            raise
        _check_scope(self.route, caller)
        await self._users.check(caller)
        return caller == self._who

    # -- refusals ---------------------------------------------------------------------------------

    async def _refuse_in_time(self, error: BaseException) -> None:
        if getattr(error, "code", "") == "too_many" and not self._headers_written and not self._held:
            await self._hold_back(0)
            if self._gone:
                return
        self._refuse(error)

    async def _hold_back(self, size: int) -> None:
        self._held = True
        await self._platform.world.clock.sleep(HELD_BACK + min(size / HELD_BYTES, HELD_MOST))

    def _refuse(self, error: BaseException, *, close: bool = False) -> None:
        """Answer an error as a problem document; the cause of an internal error goes only to the log.

        Args:
            error: The error.
            close: Whether to close the connection, which cannot be used again while a body is still arriving.
        """
        problem = problems.problem_of(error)
        if problem is None:
            name, problem = problems.incident()
            self._platform.prometheus.incident()
            where = self.route.path if self.route else "no route"
            log.error("incident %s: %s %s", name, self.request.method, where, exc_info=error)
        if self._headers_written and self._headers.get("Content-Type") != "text/event-stream":
            # A file without its end is seen to be one; a problem within it would not be.
            cut_off(self)
            return
        if self._headers_written:
            # The answer has begun: the problem can only be sent as the last message of the stream.
            with suppress(StreamClosedError):
                self.write(f"event: problem\ndata: {problem.model_dump_json()}\n\n")
                self.finish()
            return
        self.clear()
        self.set_status(problem.status)
        self.set_header("Content-Type", problems.CONTENT_TYPE)
        if close:
            self.set_header("Connection", "close")
        if problem.code == "unavailable":
            self.set_header("Retry-After", str(RETRY_AFTER))
        if isinstance(error, TooMany):
            self.set_header("Retry-After", str(error.retry_after))
        for name, value in getattr(error, "headers", {}).items() if isinstance(error, Refused) else ():
            self.set_header(name, value)
        self.finish(problem.model_dump_json().encode())

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer an error that tornado itself raises, as a problem document."""
        info = kwargs.get("exc_info")
        self._refuse(self._refusal or (info[1] if info else HTTPError(status_code)))

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        """Do nothing: `_refuse` logs internal errors, and other errors are the client's."""

    @property
    def metrics(self) -> Metrics:
        """The metrics in which requests are counted."""
        return self._platform.prometheus

    @property
    def seconds(self) -> float:
        """How long the request has taken so far, in seconds."""
        return time.monotonic() - self._began


def _check_version(client: str | None) -> None:
    """Refuse a client that is too old or too new. One that sends no version, or something else, is taken as it is."""
    verdict = skew.judge(skew.CLIENT, client, __version__)
    if verdict.state == skew.REFUSE:
        raise Refused("version", f"{verdict.sentence}.")


def _check_scope(route: Route, caller: Caller) -> None:
    if not has_scope(caller, route.access):
        raise Refused(
            "forbidden",
            f"This needs the scope {route.access}, which your token does not carry: "
            "ask an admin, or make a token with it.",
        )
