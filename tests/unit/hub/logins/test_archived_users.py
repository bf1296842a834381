"""Who is archived, as the Hub remembers it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from aiohttp import web
from sqlalchemy.exc import OperationalError

from hai_hub.logins import archived_users
from hai_hub.logins.archived_users import ArchivedUsers, asking
from kit.ports import free_port
from kit.waiting import until


class Service:
    """What the scheduler service would say."""

    def __init__(self) -> None:
        self.names: frozenset[str] | Exception = frozenset({"ann"})
        self.asked: list[str] = []

    async def ask(self, token: str) -> frozenset[str]:
        self.asked.append(token)
        await asyncio.sleep(0)
        if isinstance(self.names, Exception):
            raise self.names
        return self.names


async def test_answers_of_the_last_second_are_believed() -> None:
    service, time = Service(), [100.0]
    archived = ArchivedUsers(service.ask, now=lambda: time[0])
    assert await asyncio.gather(*(archived.includes(name, "t") for name in ("ann", "bob"))) == [True, False]
    assert service.asked == ["t"]
    service.names = frozenset({"bob"})
    time[0] += 0.5
    assert not await archived.includes("bob", "t")
    time[0] += 1
    assert await archived.includes("bob", "t")


@pytest.mark.parametrize("error", [OSError("no"), TimeoutError(), ValueError("no names")])
async def test_while_the_service_does_not_answer_the_last_answer_counts(error: Exception) -> None:
    service, time = Service(), [100.0]
    archived = ArchivedUsers(service.ask, now=lambda: time[0])
    await archived.look("t")
    service.names = error
    time[0] += 60
    assert await archived.includes("ann", "t")
    assert not await archived.includes("bob", "t")


async def test_the_service_is_asked_with_its_token_and_a_strange_answer_is_refused() -> None:
    answers = [web.json_response({"names": ["ann"]}), web.json_response({"names": None}), web.Response(status=503)]
    seen = []

    async def answer(request: web.Request) -> web.Response:
        seen.append((request.path, request.headers["Authorization"]))
        return answers.pop(0)

    app = web.Application()
    app.router.add_get("/api/archived-users", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        ask = asking(f"http://127.0.0.1:{port}/api/")
        assert await ask("secret") == frozenset({"ann"})
        for _ in range(2):
            with pytest.raises(ValueError, match=r"names|status 503"):
                await ask("secret")
        assert seen == [("/api/archived-users", "Bearer secret")] * 3
    finally:
        await runner.cleanup()


async def test_an_error_of_the_hubs_database_does_not_end_the_watch_over_archived_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archived_users, "EVERY_S", 0)
    looked: list[str] = []

    def find_user(name: str) -> None:
        looked.append(name)
        if len(looked) == 1:
            raise OperationalError("SELECT", {}, Exception("disk is full"))

    rolled_back: list[None] = []
    database = SimpleNamespace(rollback=lambda: rolled_back.append(None))
    handler = SimpleNamespace(settings={}, find_user=find_user, db=database)

    async def nothing(_token: str) -> None:
        return

    watch = asyncio.create_task(archived_users._watch(ArchivedUsers(Service().ask), handler, nothing))
    await until("it looks again", lambda: len(looked) > 1 or watch.done())
    assert (looked[:2], len(rolled_back)) == (["ann", "ann"], 1)
    watch.cancel()
