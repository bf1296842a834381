"""A cache of the API server's objects of one kind: list, then watch, and list again at intervals.

The cache may be late; `contact` says by how much at most. Of an object it never shows an older state after a newer one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from hai_scheduler.adapters.kubernetes.client import ApiRefused, Expired, KubernetesApi, Missing
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.errors import Temporary

log = logging.getLogger(__name__)

Thing = dict[str, Any]

_PAGE: Final = 500
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0
#: Removed objects that are remembered, by uid, so that a late answer does not bring one back.
_REMEMBERED: Final = 10_000


class Informer:
    """Caches the objects under a path of the API server, by name."""

    def __init__(
        self,
        api: KubernetesApi,
        clock: Clock,
        path: str,
        *,
        selector: str = "",
        fields: str = "",
        page: int = _PAGE,
        slim: Callable[[Thing], Thing] | None = None,
        watch_for: timedelta,
        relist_every: timedelta,
        on_change: Callable[[Thing | None, Thing | None], None],
        keep: Callable[[Thing, Thing], Thing],
    ) -> None:
        """Create an empty cache; `run` fills it.

        Args:
            api: The API server.
            clock: The clock.
            path: The path to list and watch.
            selector: A label selector; empty: all objects.
            fields: A field selector; empty: all objects.
            page: How many objects are listed at once.
            slim: Returns what is kept of an object, with name, uid and resourceVersion; None: all that is ever read.
            watch_for: How long a watch lasts before it is opened again.
            relist_every: How often all objects are listed again.
            on_change: Called with an object before and after a change, with None where it does not exist.
            keep: Returns what to store of an object, given the stored state and the new one.
        """
        self._api = api
        self._clock = clock
        self._path = path
        asked = {"labelSelector": selector, "fieldSelector": fields}
        self._query: dict[str, str | int] = {key: value for key, value in asked.items() if value}
        self._page = page
        self._slim = slim or _slim
        self._watch_for = watch_for
        self._relist_every = relist_every
        self._on_change = on_change
        self._keep = keep
        self._version = ""
        self._buried: dict[str, None] = {}
        self.items: dict[str, Thing] = {}
        #: All changes up to this time have been seen; None before the first list.
        self.contact: datetime | None = None
        #: The latest error in words, empty when all is well.
        self.trouble = ""
        self._listed = asyncio.Event()

    async def listed(self) -> None:
        """Wait until all objects have been listed once."""
        await self._listed.wait()

    async def run(self) -> None:
        """Keep the cache up to date until cancelled."""
        pause = _FIRST_PAUSE_S
        while True:
            try:
                await self._list()
                pause = _FIRST_PAUSE_S
                await self._follow()
            except Expired:
                log.info("%s: the watch has expired; everything is listed again", self._path)
                await self._clock.sleep(_FIRST_PAUSE_S)
            except (Temporary, ApiRefused, Missing) as error:
                self._note(str(error))
                await self._clock.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_S)
            except Exception:  # one unforeseen object must not hide all others
                log.exception("%s: everything is listed again", self._path)
                await self._clock.sleep(_LONGEST_PAUSE_S)

    async def _list(self) -> None:
        asked = self._clock.now()
        found: dict[str, Thing] = {}
        query: dict[str, str | int] = {**self._query, "limit": self._page}
        while True:
            page = await self._api.request("GET", self._path, query=query)
            for thing in map(self._slim, page.get("items") or []):
                found[thing["metadata"]["name"]] = thing
            more = page["metadata"].get("continue")
            if not more:
                break
            query["continue"] = more
        self._version = page["metadata"]["resourceVersion"]
        for name in [name for name in self.items if name not in found]:
            # This process has just made it, after the list was read: the watch will report it.
            if not _newer(self.items[name], self._version):
                self._remove(name)
        for thing in found.values():
            self.put(thing)
        self._seen(asked)
        self._listed.set()

    async def _follow(self) -> None:
        """Watch until it is time to list again."""
        until = self._clock.now() + self._relist_every
        pause = _FIRST_PAUSE_S
        while self._clock.now() < until:
            try:
                await self._watch()
                pause = _FIRST_PAUSE_S
            except Temporary as error:
                self._note(str(error))
                await self._clock.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_S)

    async def _watch(self) -> None:
        query = {**self._query, "resourceVersion": self._version}
        events = self._api.watch(self._path, query=query, seconds=self._watch_for.total_seconds())
        async for event in events:
            self._seen(self._clock.now())
            if event:
                self._take(event)

    def _take(self, event: Mapping[str, Any]) -> None:
        thing = event["object"]
        version = thing.get("metadata", {}).get("resourceVersion")
        if event["type"] in ("ADDED", "MODIFIED"):
            self.put(self._slim(thing))
        elif event["type"] == "DELETED":
            self._delete(self._slim(thing))
        self._version = version or self._version

    def put(self, thing: Thing) -> None:
        """Store an object, from a list, a watch or the server's answer to a request of this process."""
        metadata = thing["metadata"]
        name, before = metadata["name"], self.items.get(metadata["name"])
        if metadata["uid"] in self._buried:
            return
        if before is not None and before["metadata"]["uid"] == metadata["uid"]:
            if _version(thing) <= _version(before):
                return
            thing = self._keep(before, thing)
        elif before is not None:
            if _newer(before, metadata.get("resourceVersion", "")):
                return
            self._remove(name)
            before = None
        self.items[name] = thing
        self._on_change(before, thing)

    def drop(self, name: str) -> None:
        """Remove an object from the cache, after the server has confirmed that it is removed."""
        if name in self.items:
            self._remove(name)

    def _delete(self, last: Thing) -> None:
        """Remove an object; the event of its removal carries its last state, `last`."""
        known = self.items.get(last["metadata"]["name"])
        if known is not None and known["metadata"]["uid"] == last["metadata"]["uid"]:
            self.items[last["metadata"]["name"]] = self._keep(known, last)
            self._remove(last["metadata"]["name"])
        else:
            self._bury(last)

    def _remove(self, name: str) -> None:
        gone = self.items.pop(name)
        self._bury(gone)
        self._on_change(gone, None)

    def _bury(self, thing: Thing) -> None:
        self._buried[thing["metadata"]["uid"]] = None
        while len(self._buried) > _REMEMBERED:
            del self._buried[next(iter(self._buried))]

    def _seen(self, at: datetime) -> None:
        self.contact = at
        if self.trouble:
            log.info("%s can be read again", self._path)
            self.trouble = ""

    def _note(self, trouble: str) -> None:
        if trouble != self.trouble:
            log.warning("%s", trouble)
        self.trouble = trouble


def _slim(thing: Thing) -> Thing:
    """Return the object without `managedFields`: most of its bytes, and never read."""
    thing["metadata"].pop("managedFields", None)
    return thing


def _version(thing: Thing) -> int:
    text = thing["metadata"].get("resourceVersion", "")
    return int(text) if text.isdigit() else 0


def _newer(thing: Thing, version: str) -> bool:
    return version.isdigit() and _version(thing) > int(version)
