"""Asking the Hub who is in which group: in pages, and with no belief in what moved meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tornado.web import HTTPError

from hai_scheduler.api.server.hub_groups import HubGroups


class FakeHub:
    """Lists groups by pages."""

    api_url = "http://hub/hub/api"

    def __init__(self, groups: dict[str, list[str]]) -> None:
        self.groups = groups
        self.asked = 0
        self.answers: Any = self.page
        self.after: Callable[[], object] = lambda: None

    async def _api_request(self, _method: str, url: str, *, allow_403: bool, headers: dict[str, str]) -> Any:
        assert allow_403
        assert "pagination" in headers["Accept"]
        self.asked += 1
        if isinstance(self.answers, Exception):
            raise self.answers
        query = {key: int(values[0]) for key, values in parse_qs(urlsplit(url).query).items()}
        answer = self.answers(query["offset"], query["limit"])
        self.after()
        return answer

    def page(self, offset: int, limit: int) -> Any:
        names = list(self.groups)[offset : offset + limit]
        items = [{"name": name, "users": self.groups[name]} for name in names]
        return {"items": items, "_pagination": {"total": len(self.groups)}}


async def test_all_groups_come_page_by_page_and_are_turned_round() -> None:
    hub = FakeHub({f"g{n}": ["ann", f"u{n}"] for n in range(120)})
    groups = HubGroups(hub)  # type: ignore[arg-type]
    found = await groups.of_users()
    assert found is not None
    assert (len(found["ann"]), found["u7"], hub.asked) == (120, frozenset({"g7"}), 3)
    assert await groups.names() == frozenset(hub.groups)


async def test_a_hub_without_groups_has_none() -> None:
    groups = HubGroups(FakeHub({}))  # type: ignore[arg-type]
    assert (await groups.of_users(), await groups.names()) == ({}, frozenset())


@pytest.mark.parametrize(
    "answers",
    [
        HTTPError(502),
        OSError(),
        lambda *_: None,
        lambda *_: [],
        lambda *_: {"items": []},
        # The token may list groups, and may not read who is in them.
        lambda *_: {"items": [{"name": "cv"}], "_pagination": {"total": 1}},
    ],
)
async def test_without_an_answer_nothing_is_known(answers: Any) -> None:
    hub = FakeHub({"cv": ["ann"]})
    hub.answers = answers
    assert await HubGroups(hub).of_users() is None  # type: ignore[arg-type]


@pytest.mark.parametrize("changed", ["deleted", "added and deleted"])
async def test_a_group_that_goes_between_two_pages_takes_no_groups_from_anybody(changed: str) -> None:
    hub = FakeHub({f"g{n}": ["ann"] for n in range(60)})

    def change() -> None:
        hub.groups.pop("g0", None)
        if changed == "added and deleted":
            hub.groups["late"] = []

    hub.after = change
    found = await HubGroups(hub).of_users()  # type: ignore[arg-type]
    assert found is None or len(found["ann"]) >= 59
