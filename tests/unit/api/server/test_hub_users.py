"""Asking the Hub which users it knows: how often, and what its silence means."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tornado.web import HTTPError

from hai_scheduler.api.server import hub_users
from hai_scheduler.api.server.hub_users import HubUsers


class FakeHub:
    """Lists users by pages."""

    api_url = "http://hub/hub/api"

    def __init__(self, *names: str) -> None:
        self.names = names
        self.asked = 0
        self.answers: Any = None

    async def _api_request(self, _method: str, url: str, *, allow_403: bool) -> Any:
        assert allow_403
        self.asked += 1
        if isinstance(self.answers, Exception):
            raise self.answers
        query = {key: values[0] for key, values in parse_qs(urlsplit(url).query).items()}
        found = [name for name in self.names if query.get("name_filter", "") in name]
        start = int(query["offset"])
        return [{"name": name, "groups": ["g"]} for name in found[start : start + int(query["limit"])]]


async def test_all_users_come_page_by_page_and_are_kept_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(hub_users.time, "monotonic", lambda: now[0] + 100)
    hub = FakeHub(*(f"u{n}" for n in range(450)))
    users = HubUsers(hub)  # type: ignore[arg-type]
    assert len(await users(None)) == 450
    assert hub.asked == 3
    assert (await users(None))["u7"] == frozenset({"g"})
    assert hub.asked == 3
    now[0] += 60
    await users(None)
    assert hub.asked == 6


async def test_a_few_names_are_asked_for_by_name_and_many_at_once() -> None:
    hub = FakeHub("ann", "anna", "bob")
    users = HubUsers(hub)  # type: ignore[arg-type]
    assert set(await users(["ann", "zoe"])) == {"ann"}
    assert hub.asked == 2
    assert set(await users(["ann", *(f"x{n}" for n in range(50))])) == {"ann"}
    assert hub.asked == 3


@pytest.mark.parametrize("answers", [HTTPError(502), OSError(), ValueError()])
async def test_a_hub_that_does_not_answer_knows_nobody(answers: Exception) -> None:
    hub = FakeHub("ann")
    hub.answers = answers
    assert await HubUsers(hub)(["ann"]) == {}  # type: ignore[arg-type]
