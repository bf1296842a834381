"""Snapshots of code over HTTP: sent, used, refused, cut off."""

from __future__ import annotations

import asyncio
import io
import json
import os
import zlib
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from hai_client.snapshots.packing import Packer
from kit.code_folders import Code, forged, sha
from kit.waiting import until

CODE = Code({"train.py": b"print(1)", "lib/a.py": b"a = 1", "run.sh": b"#!/bin/sh\n"})
BYTES = {"Content-Type": "application/octet-stream"}


async def send(world: Any, method: str, path: str, body: bytes, user: str = "alice") -> tuple[int, Any]:
    return await world.json(method, path, user, data=body, headers=BYTES)


async def offer(world: Any, code: Code = CODE, user: str = "alice") -> tuple[int, Any]:
    return await send(world, "PUT", f"/snapshots/{code.digest}", code.packed, user)


async def stored(world: Any, code: Code = CODE, user: str = "alice") -> str:
    _, state = await offer(world, code, user)
    if not state["complete"]:
        body = code.stream(state["missing"])
        status, state = await send(world, "POST", f"/snapshots/{code.digest}/contents", body, user)
        assert status == 200, state
    assert state["complete"], state
    return code.digest


async def missing(world: Any, code: Code) -> int:
    return len((await world.json("GET", f"/snapshots/{code.digest}"))[1]["missing"])


def task(**more: Any) -> dict[str, Any]:
    return {"name": "t", "command": ["true"], "cwd": "/home/alice/code", **more}


async def test_a_task_has_the_snapshot_that_its_user_has_sent(world: Any) -> None:
    digest = await stored(world)
    said = {"digest": digest, "commit": "a" * 40, "dirty": True}
    status, made = await world.json("POST", "/tasks", json=task(snapshot=said))
    assert status == 201, made
    assert made["snapshot"] == {**said, "files": 3, "size": 23}
    assert made["cwd"] == "/home/alice/code"
    _, shown = await world.json("GET", "/tasks/t")
    assert shown["snapshot"] == made["snapshot"]


async def test_only_what_was_sent_by_the_same_user_can_be_named(world: Any) -> None:
    digest = await stored(world)
    for path in (f"/snapshots/{digest}",):
        assert (await world.json("GET", path, "bob"))[0] == 404
    assert (await send(world, "POST", f"/snapshots/{digest}/contents", b"", "bob"))[0] == 404
    status, problem = await world.json("POST", "/tasks", "bob", json=task(snapshot={"digest": digest}))
    assert (status, problem["code"]) == (409, "conflict")
    assert "submit with --snapshot" in problem["detail"]
    # Not even an offer tells that somebody has these contents.
    _, state = await offer(world, user="bob")
    assert len(state["missing"]) == 3


async def test_a_snapshot_is_read_by_who_sees_the_task_alone(world: Any) -> None:
    digest = await stored(world)
    await world.json("POST", "/tasks", json=task(snapshot={"digest": digest}))
    for path in ("/tasks/alice%2Ft/snapshot", "/tasks/alice%2Ft/snapshot/pack"):
        assert (await world.json("GET", path, "bob"))[0] == 404
        async with world.ask("GET", path, "admin") as response:
            assert response.status == 200
    async with world.ask("GET", "/tasks/t/snapshot", "alice") as response:
        assert await response.read() == CODE.body
    async with world.ask("GET", "/tasks/t/snapshot/pack?start=2", "alice") as response:
        assert zlib.decompress(await response.read()).count(b"\n") >= 1
    await world.json("POST", "/tasks", json=task(name="bare"))
    assert (await world.json("GET", "/tasks/bare/snapshot"))[0] == 404


async def test_what_is_wrong_is_said_by_its_name(world: Any) -> None:
    digest, packed = forged([["../up", "f", 1, "0" * 64]])
    status, problem = await send(world, "PUT", f"/snapshots/{digest}", packed)
    assert (status, problem["code"]) == (400, "invalid")
    assert "'../up'" in problem["detail"]
    status, problem = await send(world, "PUT", f"/snapshots/{'0' * 64}", CODE.packed)
    assert "another SHA-256" in problem["detail"]
    assert (await send(world, "PUT", "/snapshots/..%2F..%2Fetc", CODE.packed))[0] == 404
    big, packed = forged([["big", "f", 2**40, "0" * 64]])
    status, problem = await send(world, "PUT", f"/snapshots/{big}", packed)
    assert (status, problem["code"]) == (413, "too_large")
    for field in ({"digest": "x"}, {"digest": "0" * 64, "commit": "; rm -rf /"}):
        assert (await world.json("POST", "/tasks", json=task(snapshot=field)))[0] == 400
    status, problem = await world.json("POST", "/tasks", json=task(take_snapshot=True))
    assert (status, problem["errors"][0]["field"]) == (400, "take_snapshot")


@pytest.mark.parametrize("kind", ["bomb", "hash", "half", "not asked"])
async def test_a_dishonest_stream_is_refused_and_another_one_taken(world: Any, kind: str) -> None:
    _, state = await offer(world)
    packer = Packer()
    if kind == "hash":
        packer.add(sha(b"a = 1"), b"a = 2")
    elif kind == "not asked":
        packer.add(sha(b"other"), b"other")
    body = {
        "bomb": zlib.compress(b"\0" * 100_000_000),
        "half": CODE.stream(state["missing"])[:-8],
    }.get(kind) or packer.finish()
    status, problem = await send(world, "POST", f"/snapshots/{CODE.digest}/contents", body)
    assert (status, problem["code"]) == (400, "invalid")
    assert (await world.json("POST", "/tasks", json=task(snapshot={"digest": CODE.digest})))[0] == 409
    await stored(world)


async def test_what_has_arrived_of_a_stream_that_is_cut_off_is_kept(world: Any, tmp_path: Any) -> None:
    code = Code({f"f{number}": os.urandom(200_000) for number in range(4)})
    _, state = await offer(world, code)
    body = code.stream(state["missing"])
    where = urlsplit(world.url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    head = (
        f"POST {where.path.rstrip('/')}/snapshots/{code.digest}/contents HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer alice-token\r\nContent-Type: application/octet-stream\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body[:500_000])
    await writer.drain()
    writer.close()
    await until("half of the contents to be there", lambda: missing(world, code), met=lambda found: found == 2)
    assert not list((tmp_path / "snapshots/alice/incoming").iterdir())
    await stored(world, code)
    del reader


async def test_the_rules_say_what_a_client_needs(world: Any) -> None:
    status, rules = await world.json("GET", "/snapshots/rules?group=training")
    assert (status, rules["mode"], rules["max_files"]) == (200, "offered", 20_000)
    await world.json("PUT", "/policy", "admin", json={"set": {"snapshots": "required"}})
    assert (await world.json("GET", "/snapshots/rules"))[1]["mode"] == "required"
    status, problem = await world.json("POST", "/tasks", json=task())
    assert (status, problem["errors"][0]["field"]) == (400, "snapshot")
    assert "--snapshot" in problem["detail"]
    await world.json("PUT", "/policy", "admin", json={"set": {"snapshots": "off"}})
    digest = await stored(world)
    assert (await world.json("POST", "/tasks", json=task(snapshot={"digest": digest})))[0] == 400
    status, problem = await world.json("PUT", "/policy", "admin", json={"set": {"snapshots": "sometimes"}})
    assert status == 400
    assert "off, offered, required" in problem["detail"]


async def test_a_large_body_is_for_the_routes_that_take_one(world: Any) -> None:
    async with world.ask("POST", "/tasks", "alice", data=io.BytesIO(b"x" * 2_000_000), headers=BYTES) as response:
        assert response.status == 413
    assert json.loads(CODE.body)["schema"] == 1
    assert isinstance(world.client, aiohttp.ClientSession)
