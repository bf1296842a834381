"""Secrets over HTTP: set, listed, removed, used by tasks; no answer, error or stream shows a value."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.core.model.limits import MAX_SECRET_BYTES

CANARY = b"hf_canaryF00dF00dF00d\xc3\xbc"
BYTES = {"Content-Type": "application/octet-stream"}
TASK: dict[str, Any] = {"name": "train", "command": ["python", "train.py"], "cwd": "/w"}


async def put(world: Any, name: str, value: bytes, who: str = "alice") -> tuple[int, Any]:
    return await world.json("PUT", f"/secrets/{name}", who, data=value, headers=BYTES)


async def test_a_secret_is_set_listed_and_removed(world) -> None:
    status, made = await put(world, "hf", CANARY)
    assert status == 200
    assert {**made, "set_at": None} == {
        "name": "hf", "version": 1, "text": True, "redacted": True, "set_at": None, "used_at": None, "used_by": None,
    }  # fmt: skip
    assert (await put(world, "pin", b"1234567"))[1]["redacted"] is False
    assert (await put(world, "key", b"\0\xff"))[1]["text"] is False
    status, shown = await world.json("GET", "/secrets")
    assert [one["name"] for one in shown["items"]] == ["hf", "key", "pin"]
    assert (await world.json("GET", "/secrets", "bob"))[1] == {"items": []}
    assert (await world.json("DELETE", "/secrets/pin", "bob"))[0] == 404
    assert (await world.json("DELETE", "/secrets/pin"))[0] == 204
    assert (await world.json("DELETE", "/secrets/pin"))[0] == 404


async def test_a_task_names_them_and_shows_names_alone(world) -> None:
    await put(world, "hf", CANARY)
    body = {**TASK, "secrets": ["HF_TOKEN=hf", "~/.netrc=hf"], "env": {"WANDB_API_KEY": "0123456789abcdef"}}
    status, task = await world.json("POST", "/tasks", json=body)
    assert status == 201
    assert task["secrets"] == ["HF_TOKEN=hf", "~/.netrc=hf"]
    (advice,) = [one for one in task["warnings"] if "looks like a key" in one]
    assert "--secret WANDB_API_KEY" in advice
    assert "0123456789abcdef" not in advice
    status, again = await world.json("POST", "/tasks", json={**TASK, "secrets": task["secrets"]})
    assert (status, again["secrets"]) == (201, task["secrets"])
    assert again["warnings"] == []


@pytest.mark.parametrize(
    ("secrets", "said"),
    [
        (["wandb"], "there is no secret 'wandb': set it by `hai secret set wandb`"),
        (["no name"], "'no name' is not a name"),
        (["/=hf"], "not the path of a file"),
        (["A\nB=hf"], "neither a variable nor a path"),
        (["HF_TOKEN=hf"] * 51, "has too many entries: at most 50"),
        (["HF_TOKEN=hf"] * 2, "the variable HF_TOKEN is given twice"),
        (["PATH" * 400 + "=hf"], "is too long"),
        ([""], "is too short"),
        ([{"name": "hf"}], "must be a text in quotes"),
        ("hf", "must be a list"),
    ],
)
async def test_a_task_with_wrong_ones_is_refused(world, secrets: Any, said: str) -> None:
    await put(world, "hf", CANARY)
    for path, body in (
        ("/tasks", {**TASK, "secrets": secrets}),
        ("/forecast", {"submit": {**TASK, "secrets": secrets}}),
    ):
        status, problem = await world.json("POST", path, json=body)
        assert status == 400, problem
        assert problem["errors"][0]["field"].split(".")[-1].startswith("secrets")
        assert said in problem["detail"]
    assert (await world.json("GET", "/tasks"))[1]["items"] == []


@pytest.mark.parametrize(
    ("name", "value", "kind", "status", "said"),
    [
        ("hf", b"", "application/octet-stream", 400, "value: is empty: give the value of hf"),
        ("hf", CANARY * 4000, "application/octet-stream", 413, "The body is larger than 64 KiB"),
        ("hf%20x", CANARY, "application/octet-stream", 400, "secret: 'hf x' is not a name"),
        ("a" * 64, CANARY, "application/octet-stream", 400, "is not a name"),
        ("hf", b'{"value": "' + CANARY + b'"}', "application/json", 415, "send bytes as application/octet-stream"),
    ],
)
async def test_what_cannot_be_set_is_refused_without_a_word_of_it(
    world, name: str, value: bytes, kind: str, status: int, said: str
) -> None:
    options = {"data": value, "headers": {"Content-Type": kind}}
    async with world.ask("PUT", f"/secrets/{name}", **options) as response:
        text = await response.text()
    assert response.status == status, text
    assert said in text
    assert "canary" not in text
    assert (await world.json("GET", "/secrets"))[1] == {"items": []}


async def test_the_largest_fits(world) -> None:
    assert (await put(world, "big", b"x" * MAX_SECRET_BYTES))[0] == 200


async def test_the_canary_is_in_no_answer_and_no_event(world) -> None:
    await put(world, "hf", CANARY)
    status, task = await world.json("POST", "/tasks", json={**TASK, "secrets": ["HF_TOKEN=hf"]})
    assert status == 201
    document = (await world.json("GET", "/openapi.json", None))[1]
    asked = 0
    for path, verbs in document["paths"].items():
        if "get" not in verbs:
            continue
        for who in ("alice", "admin", "bob"):
            there = path.replace("{task}", str(task["id"])).replace("{user}", "alice").replace("{secret}", "hf")
            if "{" in there or there.endswith("/events"):
                continue
            async with world.ask("GET", there.removeprefix("/api/v1"), who) as response:
                body = await response.read()
            asked += response.status == 200
            assert CANARY not in body, there
            assert b"canary" not in body, there
    assert asked > 40
    async with world.store.read() as tx:
        events = await tx.events.page(after=0, limit=1000)
    kinds = [str(event.kind) for event in events]
    assert "secret.set" in kinds
    assert all("canary" not in str(event.data) for event in events)


async def test_admins_seal_again_and_nobody_else(world) -> None:
    await put(world, "hf", CANARY)
    assert (await world.json("POST", "/secrets/reseal"))[0] == 403
    status, done = await world.json("POST", "/secrets/reseal", "admin")
    assert (status, done) == (200, {"resealed": 0, "already": 1, "lost": 0, "lost_names": []})
