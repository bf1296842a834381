"""The cache of the API server's objects: what it shows when answers come late, twice or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from hai_scheduler.adapters.kubernetes import informer as module
from hai_scheduler.adapters.kubernetes.client import ApiRefused, Expired, Missing
from hai_scheduler.adapters.kubernetes.informer import Informer
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.errors import Temporary
from kit.builders import T0, a_launch, at
from kit.waiting import until
from unit.adapters.kubernetes.conftest import state_is
from unit.adapters.kubernetes.things import a_kube_node, running, terminated

ENDED = '{"schema": 1, "exit_code": 0}'

# -- against a server -------------------------------------------------------------------------------


async def test_what_happened_while_a_watch_was_away_is_seen(server, cluster) -> None:
    await cluster.launch(a_launch())
    await server.stop()
    server.status("hai-1-1-0", **terminated(0, message=ENDED))
    await server.start()
    assert (await state_is(cluster, RankState.EXITED)).ranks[0].exit_code == 0


async def test_a_watch_that_has_expired_reads_everything_again(server, cluster) -> None:
    await cluster.launch(a_launch())
    await server.stop()
    server.remove("pods", "hai-1-1-0")
    server.put("nodes", a_kube_node("node-3"))
    server.oldest = server._version
    await server.start()
    assert (await state_is(cluster, RankState.LOST)).ranks

    async def third() -> bool:
        return len(await cluster.nodes()) == 3

    await until("the third node", third)


async def test_an_error_in_the_middle_of_a_watch_reads_everything_again(server, cluster) -> None:
    await cluster.launch(a_launch())
    lists = server.count("GET", "/pods")
    server.tell_all(
        "pods",
        {
            "type": "ERROR",
            "object": {
                "code": 410,
                "message": "too old",
                "metadata": {"labels": {"app.kubernetes.io/managed-by": "hai"}},
            },
        },
    )

    async def again() -> bool:
        return server.count("GET", "/pods") > lists

    await until("the pods to be listed again", again)
    server.status("hai-1-1-0", **running())
    await state_is(cluster, RankState.RUNNING)


async def test_a_long_list_is_read_in_pages(server, opened) -> None:
    for number in range(1, 1203):
        server.put("nodes", a_kube_node(f"node-{number}"))
    assert len(await opened().nodes()) == 1202
    assert server.count("GET", "/nodes") >= 3


# -- by itself, with every answer written down -------------------------------------------------------

Thing = dict[str, Any]
WATCH = timedelta(seconds=60)


def thing(name: str = "a", version: int | str = 1, uid: str = "", **more: Any) -> Thing:
    """An object as the API server shows it."""
    metadata = {"name": name, "uid": uid or f"u-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, **more}


def page(version: int, *things: Thing, more: str = "") -> Thing:
    """One page of a list."""
    return {"metadata": {"resourceVersion": str(version), "continue": more}, "items": list(things)}


def event(kind: str, of: Thing) -> Thing:
    return {"type": kind, "object": of}


class VirtualClock:
    """Time that passes only while something sleeps or watches."""

    def __init__(self) -> None:
        self.time = T0
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += timedelta(seconds=seconds)


class Script:
    """An API server that gives the answers that the test has written, and then nothing any more."""

    def __init__(self, clock: VirtualClock, *answers: Any) -> None:
        self.clock = clock
        self.answers = list(answers)
        #: What was asked: `list` or `watch`, with the query.
        self.asked: list[tuple[str, Thing]] = []

    def _next(self, what: str, query: Thing) -> Any:
        if not self.answers:
            raise asyncio.CancelledError
        self.asked.append((what, dict(query)))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def request(self, method: str, path: str, *, query: Thing) -> Thing:
        assert (method, path) == ("GET", "/things")
        return self._next("list", query)

    async def watch(self, path: str, *, query: Thing, seconds: float) -> AsyncIterator[Thing]:
        for each in self._next("watch", query):
            if isinstance(each, Exception):
                raise each
            yield each
        self.clock.time += timedelta(seconds=seconds)


class Cache:
    """An informer on a script, and the changes of which it tells."""

    def __init__(self, *answers: Any, selector: str = "", relist: timedelta = WATCH) -> None:
        self.clock = VirtualClock()
        self.api = Script(self.clock, *answers)
        self.told: list[tuple[str | None, str | None]] = []
        api: Any = self.api
        clock: Any = self.clock
        self.informer = Informer(
            api, clock, "/things", selector=selector, watch_for=WATCH, relist_every=relist,
            on_change=self._changed, keep=lambda before, after: {**after, "kept": _version(before)},
        )  # fmt: skip

    def _changed(self, before: Thing | None, after: Thing | None) -> None:
        self.told.append((_version(before), _version(after)))

    async def run(self) -> Cache:
        with pytest.raises(asyncio.CancelledError):
            await self.informer.run()
        return self

    @property
    def shown(self) -> dict[str, str]:
        return {name: each["metadata"]["resourceVersion"] for name, each in self.informer.items.items()}


def _version(of: Thing | None) -> str | None:
    return None if of is None else of["metadata"]["resourceVersion"]


async def test_a_list_of_several_pages_is_one_list_and_the_watch_begins_where_it_ends() -> None:
    cache = await Cache(page(5, thing("a"), more="next"), page(7, thing("b", 2)), [{}], selector="x=y").run()
    assert cache.shown == {"a": "1", "b": "2"}
    assert [(what, query.get("continue"), query.get("resourceVersion")) for what, query in cache.api.asked] == [
        ("list", None, None),
        ("list", "next", None),
        ("watch", None, "7"),
    ]
    assert {query["labelSelector"] for _, query in cache.api.asked} == {"x=y"}


async def test_a_list_without_items_is_empty() -> None:
    cache = await Cache({"metadata": {"resourceVersion": "1"}, "items": None}).run()
    assert cache.shown == {}
    assert cache.informer.contact == T0


async def test_events_change_what_is_shown_and_the_next_watch_goes_on_behind_them() -> None:
    events = [
        {},
        event("ADDED", thing("a", 2)),
        event("MODIFIED", thing("a", 3)),
        event("BOOKMARK", {"metadata": {"resourceVersion": "9"}}),
        event("ADDED", thing("b", 10)),
        event("DELETED", thing("b", 11)),
    ]
    cache = await Cache(page(1), events, [{}], relist=2 * WATCH).run()
    assert cache.shown == {"a": "3"}
    assert cache.told == [(None, "2"), ("2", "3"), (None, "10"), ("11", None)]
    assert [query["resourceVersion"] for what, query in cache.api.asked if what == "watch"] == ["1", "11"]


async def test_what_the_server_says_twice_or_late_is_not_told_twice() -> None:
    cache = await Cache(
        page(5, thing("a", 5)), [{}, event("MODIFIED", thing("a", 5)), event("ADDED", thing("a", 4))]
    ).run()
    assert (cache.shown, cache.told) == ({"a": "5"}, [(None, "5")])


async def test_what_is_stored_of_a_newer_state_is_what_keep_says() -> None:
    cache = await Cache(page(5, thing("a", 5)), [{}, event("MODIFIED", thing("a", 6))]).run()
    assert cache.informer.items["a"]["kept"] == "5"
    assert "kept" not in (await Cache(page(5, thing("a", 5))).run()).informer.items["a"]


async def test_managed_fields_are_not_kept() -> None:
    listed, heard = thing("a"), thing("b")
    for each in (listed, heard):
        each["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    cache = await Cache(page(1, listed), [{}, event("ADDED", heard)]).run()
    assert [each["metadata"].keys() for each in cache.informer.items.values()] == [
        {"name", "uid", "resourceVersion"}
    ] * 2


async def test_a_further_list_removes_what_is_gone() -> None:
    cache = await Cache(page(5, thing("a"), thing("b")), [{}], page(9, thing("b"))).run()
    assert cache.shown == {"b": "1"}
    assert cache.told == [(None, "1"), (None, "1"), ("1", None)]


async def test_a_list_that_was_read_before_an_object_was_made_does_not_remove_it() -> None:
    cache = Cache(page(5))
    await cache.run()
    cache.informer.put(thing("new", 6))
    cache.api.answers = [page(5), [{}]]
    await cache.run()
    assert cache.shown == {"new": "6"}
    cache.api.answers = [page(7)]
    await cache.run()
    assert cache.shown == {}


async def test_an_object_of_the_same_name_takes_the_place_of_the_one_that_was_removed() -> None:
    cache = await Cache(page(5, thing("a", 5, "old")), [{}, event("ADDED", thing("a", 8, "new"))]).run()
    assert cache.told == [(None, "5"), ("5", None), (None, "8")]
    cache.informer.put(thing("a", 9, "old"))
    assert cache.informer.items["a"]["metadata"]["uid"] == "new", "the removed one does not come back"


async def test_a_late_word_of_an_older_object_of_that_name_is_not_believed() -> None:
    cache = await Cache(page(9, thing("a", 9, "new"))).run()
    cache.informer.put(thing("a", 5, "old"))
    assert cache.shown == {"a": "9"}


async def test_the_removal_of_an_older_object_removes_no_newer_one_and_the_older_never_comes_back() -> None:
    cache = await Cache(page(9, thing("a", 9, "new")), [{}, event("DELETED", thing("a", 10, "old"))]).run()
    assert cache.shown == {"a": "9"}
    cache.informer.drop("a")
    cache.informer.put(thing("a", 11, "old"))
    assert cache.shown == {}


async def test_what_was_removed_here_does_not_come_back_by_a_late_event() -> None:
    cache = await Cache(page(5, thing("a", 5))).run()
    cache.informer.drop("a")
    cache.informer.drop("a")
    cache.informer.put(thing("a", 6))
    assert cache.shown == {}
    assert cache.told == [(None, "5"), ("5", None)]


async def test_only_so_many_removed_objects_are_remembered_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 2)
    cache = await Cache(page(5, *(thing(name) for name in "abc"))).run()
    for name in "abc":
        cache.informer.drop(name)
    for name in "abc":
        cache.informer.put(thing(name, 9))
    assert cache.shown == {"a": "9"}


async def test_pauses_grow_while_the_server_is_away_and_start_small_after_it_was_back() -> None:
    away = [Temporary("away")] * 7
    cache = await Cache(*away, page(1), [Temporary("cut off")], Temporary("away"), [{}]).run()
    assert cache.clock.slept == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 0.2, 0.4]


@pytest.mark.parametrize("error", [Temporary("x is away"), ApiRefused("x is away"), Missing("x is away")])
async def test_trouble_is_told_until_the_server_answers_again(error: Exception) -> None:
    cache = await Cache(error).run()
    assert "x is away" in cache.informer.trouble
    assert cache.informer.contact is None
    cache.api.answers = [page(1)]
    await cache.run()
    assert cache.informer.trouble == ""


async def test_a_watch_that_breaks_off_is_opened_again_without_a_list() -> None:
    cache = await Cache(page(1), [{}, event("ADDED", thing("a", 2)), Temporary("cut off")], [{}]).run()
    assert [what for what, _ in cache.api.asked] == ["list", "watch", "watch"]
    assert cache.api.asked[-1][1]["resourceVersion"] == "2"


async def test_a_version_that_the_server_no_longer_has_means_a_new_list() -> None:
    cache = await Cache(page(1, thing("a")), [Expired("gone")], page(5)).run()
    assert [what for what, _ in cache.api.asked] == ["list", "watch", "list"]
    assert cache.shown == {}


async def test_everything_is_listed_again_now_and_then() -> None:
    cache = await Cache(page(1), [{}], [{}], page(2), relist=2 * WATCH).run()
    assert [what for what, _ in cache.api.asked] == ["list", "watch", "watch", "list"]


async def test_an_object_without_a_name_hides_no_others_for_good() -> None:
    cache = await Cache(page(1, {"metadata": {}}), page(2, thing("a"))).run()
    assert cache.shown == {"a": "1"}
    assert cache.clock.slept == [5.0]


async def test_contact_is_the_time_before_a_list_was_asked_for_and_that_of_each_event() -> None:
    cache = Cache(page(1))
    first = cache.api.request

    async def slow(*args: Any, **query: Any) -> Thing:
        answer = await first(*args, **query)
        cache.clock.time += timedelta(seconds=30)
        return answer

    cache.api.request = slow
    await cache.run()
    assert cache.informer.contact == T0, "what happened while the list was made may not be in it"
    cache.api.answers = [page(1), [{}]]
    await cache.run()
    assert cache.informer.contact == at(60)


async def test_nothing_is_listed_before_the_first_list() -> None:
    cache = Cache(page(1))
    waiting = asyncio.ensure_future(cache.informer.listed())
    await asyncio.sleep(0)
    assert not waiting.done()
    await cache.run()
    await waiting
