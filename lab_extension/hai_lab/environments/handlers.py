"""The routes of the *Environments* view."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, Final

import tornado.web
from tornado.iostream import StreamClosedError

from hai_lab.environments import places, program
from hai_lab.environments.actions import action_of, full_name, reference
from hai_lab.environments.builds import Build, Builds
from hai_lab.handler import HaiHandler
from hai_lab.problem import Problem, invalid

SETTING: Final = "hai_lab_builds"
#: Seconds between two looks at the folders, and between two signs of life of a silent stream.
LOOK_S: Final = 0.5
ALIVE_S: Final = 15.0
#: Seconds between two looks for what other users share.
OFFER_S: Final = 60.0
#: Streams of changes at once.
MOST_WATCHERS: Final = 16
MAX_BODY: Final = 1024 * 1024


class _Handler(HaiHandler):
    """A handler that knows the builds of this server."""

    work: asyncio.Task[None] | None = None

    @property
    def builds(self) -> Builds:
        """The builds of this server."""
        found: Builds = self.settings[SETTING]
        return found

    def on_connection_close(self) -> None:
        """Stop working for a browser that has left."""
        super().on_connection_close()
        if self.work is not None:
            self.work.cancel()

    async def answer(self, work: Awaitable[Any]) -> None:
        """Answer with what is awaited, or with the problem that it raises."""
        try:
            self.finish(json.dumps(await work))
        except Problem as problem:
            self.refuse(problem)

    async def stream(self, work: Any) -> None:
        """Send an event stream, until `work` ends or the browser leaves."""
        self.set_header("Content-Type", "text/event-stream")
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Accel-Buffering", "no")
        await self.flush()
        self.work = asyncio.ensure_future(work)
        await asyncio.wait([self.work])
        if self.work.cancelled():
            return
        error = self.work.exception()
        if error is None:
            self.finish(set_content_type="text/event-stream")
        elif not isinstance(error, StreamClosedError):
            raise error

    async def send(self, event: str, data: object, number: int | None = None) -> None:
        """Send an event."""
        given = "" if number is None else f"id: {number}\n"
        self.write(f"{given}event: {event}\ndata: {json.dumps(data)}\n\n")
        await self.flush()


class ListHandler(_Handler):
    """`hai-lab/environments`: the environments that the user may use, and the builds."""

    @tornado.web.authenticated
    async def get(self) -> None:
        """Answer with both."""
        await self.answer(self._found())

    async def _found(self) -> dict[str, Any]:
        listed = await program.read(["list", "--offer"])
        return {
            "items": listed.get("items", []),
            "owners": await asyncio.to_thread(places.owners),
            "builds": self.builds.documents(),
        }


class ShowHandler(_Handler):
    """`hai-lab/environments/show?name=`: what a generation holds."""

    @tornado.web.authenticated
    async def get(self) -> None:
        """Answer with the manifest, the packages and all generations."""
        await self.answer(self._found())

    async def _found(self) -> Any:
        return await program.read(["show", reference("name", self.get_argument("name", ""))])


class DiffHandler(_Handler):
    """`hai-lab/environments/diff?before=&after=`: which packages differ."""

    @tornado.web.authenticated
    async def get(self) -> None:
        """Answer with the packages."""
        await self.answer(self._found())

    async def _found(self) -> Any:
        before, after = (reference(name, self.get_argument(name, "")) for name in ("before", "after"))
        return await program.read(["diff", before, after])


class WatchHandler(_Handler):
    """`hai-lab/environments/watch`: an event whenever an environment is published or removed, here or elsewhere."""

    @tornado.web.authenticated
    async def get(self) -> None:
        """Stream the events; the first one comes at once."""
        watchers: set[WatchHandler] = self.settings.setdefault("hai_lab_watchers", set())
        if len(watchers) >= MOST_WATCHERS:
            self.refuse(Problem(503, "unavailable", "Too many", f"{MOST_WATCHERS} windows watch already."))
            return
        watchers.add(self)
        try:
            await self.stream(self._watch())
        finally:
            watchers.discard(self)

    async def _watch(self) -> None:
        offering = asyncio.ensure_future(self._offer())
        try:
            await self._look()
        finally:
            offering.cancel()

    async def _offer(self) -> None:
        """Look for what other users share, which shows in no folder of the user; `_look` sees what was found."""
        while True:
            # The view says what is wrong.
            with suppress(Problem):
                await program.read(["list", "--offer"])
            await asyncio.sleep(OFFER_S)

    async def _look(self) -> None:
        before, silent = None, 0.0
        while True:
            # In a thread: a folder of a file server may not answer.
            now = await asyncio.to_thread(places.state)
            if now != before:
                before, silent = now, 0.0
                await self.send("changed", {"environments": len(now)})
            elif silent >= ALIVE_S:
                silent = 0.0
                self.write(": alive\n\n")
                await self.flush()
            await asyncio.sleep(LOOK_S)
            silent += LOOK_S


class BuildsHandler(_Handler):
    """`hai-lab/environments/builds`: change an environment."""

    @tornado.web.authenticated
    async def post(self) -> None:
        """Start what the body asks for; answer at once."""
        self.set_status(202)
        await self.answer(self._begin())

    async def _begin(self) -> dict[str, Any]:
        if len(self.request.body) > MAX_BODY:
            raise Problem(413, "too_large", "Too large", "The body is larger than 1 MiB.")
        try:
            body = json.loads(self.request.body)
        except ValueError:
            raise invalid("The body is no JSON; send verb and name.") from None
        return (await self.builds.begin(action_of(body))).document()


class FreezeHandler(_Handler):
    """`hai-lab/environments/freeze`: make a generation of the changes in the user's draft of an environment, if any."""

    @tornado.web.authenticated
    async def post(self) -> None:
        """Answer with `changed` and `generation` when it is done, which takes seconds."""
        await self.answer(self._frozen())

    async def _frozen(self) -> Any:
        try:
            body = json.loads(self.request.body)
        except ValueError:
            raise invalid("The body is no JSON; send name.") from None
        name = full_name(body.get("name") if isinstance(body, dict) else None)
        return await program.read(["freeze", name, "--if-draft"], patience_s=program.FREEZE_S)


class StopHandler(_Handler):
    """`hai-lab/environments/builds/N/stop`: stop a build; the environment stays as it was."""

    @tornado.web.authenticated
    async def post(self, number: str) -> None:
        """Stop it."""
        await self.answer(self._stop(number))

    async def _stop(self, number: str) -> dict[str, Any]:
        build = self.builds.get(int(number))
        self.builds.stop(build)
        return build.document()


class LogHandler(_Handler):
    """`hai-lab/environments/builds/N/log`: the output of a build as it comes, from `Last-Event-ID` on."""

    @tornado.web.authenticated
    async def get(self, number: str) -> None:
        """Stream the lines, and `end` with the state."""
        try:
            build = self.builds.get(int(number))
            after = int(self.request.headers.get("Last-Event-ID") or 0)
        except ValueError:
            self.refuse(invalid("Last-Event-ID is no number; leave it out for all lines."))
            return
        except Problem as problem:
            self.refuse(problem)
            return
        await self.stream(self._follow(build, after))

    async def _follow(self, build: Build, after: int) -> None:
        while True:
            for number, text in [line for line in build.lines if line[0] > after]:
                self.write(f"id: {number}\nevent: line\ndata: {json.dumps({'text': text})}\n\n")
                after = number
            await self.flush()
            if build.status is not None:
                await self.send("end", build.document())
                return
            if build.count == after:
                with suppress(TimeoutError):
                    await asyncio.wait_for(build.wait(), ALIVE_S)
                    continue
                self.write(": alive\n\n")


def routes(base_url: str) -> list[tuple[str, Any]]:
    """Return the routes below a base URL that ends in a slash."""
    base = f"{re.escape(base_url)}hai-lab/environments"
    return [
        (base, ListHandler),
        (f"{base}/show", ShowHandler),
        (f"{base}/diff", DiffHandler),
        (f"{base}/watch", WatchHandler),
        (f"{base}/builds", BuildsHandler),
        (f"{base}/freeze", FreezeHandler),
        (rf"{base}/builds/(\d{{1,9}})/stop", StopHandler),
        (rf"{base}/builds/(\d{{1,9}})/log", LogHandler),
    ]
