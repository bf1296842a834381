"""What spawners tell of development containers over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from kit.builders import T0, at

TIME = "by=kind&since=2026-01-01T00:00:00Z&until=2026-02-01T00:00:00Z"
MINE = {
    "id": "0123456789abcdef",
    "user": "alice",
    "groups": ["ml"],
    "gpus": 2,
    "cpus": 1.5,
    "started_at": T0.isoformat(),
}
NAME = "spawner"


@pytest.fixture
def spawner(world: Any) -> str:
    """The name of a token as which spawners tell."""
    scopes = ["access:services!service=hai", "custom:hai:containers"]
    world.hub.tokens[f"{NAME}-token"] = {"name": "hai-spawner", "kind": "service", "groups": [], "scopes": scopes}
    return NAME


async def tell(world: Any, token: str, living: list[Any], ended: list[Any]) -> tuple[int, Any]:
    answer: tuple[int, Any] = await world.json("PUT", "/containers", token, json={"living": living, "ended": ended})
    return answer


async def test_what_was_told_is_in_the_reports_of_its_user(world: Any, spawner: str) -> None:
    assert (await tell(world, spawner, [MINE], []))[0] == 204
    ended = {**MINE, "ended_at": at(hours=2).isoformat()}
    for _ in range(2):
        assert (await tell(world, spawner, [], [ended]))[0] == 204
    (row,) = (await world.json("GET", f"/reports?{TIME}"))[1]["rows"]
    assert (row["key"], row["gpu_s"], row["core_s"], row["node_s"]) == ("development", 4 * 3600, 3 * 3600, 0)
    assert (row["starts"], row["ends"], row["wait_mean_s"]) == (1, 1, None)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": "x/../y"}, "id"),
        ({"gpus": -1}, "gpus"),
        ({"cpus": "NaN"}, "cpus"),
        ({"started_at": "yesterday"}, "started_at"),
        ({"more": 1}, "more"),
        ({"user": ""}, "user"),
    ],
)
async def test_bad_input_is_refused_by_its_field(world: Any, spawner: str, change: dict[str, Any], field: str) -> None:
    status, problem = await tell(world, spawner, [{**MINE, **change}], [])
    assert status == 400
    assert field in str(problem)


async def test_users_tell_nothing(world: Any) -> None:
    for token in ("alice", ""):
        assert (await tell(world, token, [MINE], []))[0] in (401, 403)
