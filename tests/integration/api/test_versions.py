"""Versions over HTTP: each answer says that of the service, and each sender may say its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from hai_client.version import VERSION_HEADER
from hai_scheduler import __version__
from hai_scheduler.api.server import endpoint
from hai_scheduler.service.runs import supervisors
from integration.api.conftest import PREFIX


@pytest.fixture(autouse=True)
def of_this_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "__version__", "0.2.0")


async def metrics(world) -> str:
    async with world.ask("GET", "/metrics", "metrics") as response:
        assert response.status == 200
        return str(await response.text())


def sent_by(version: str) -> Mapping[str, str]:
    return {VERSION_HEADER: version}


@pytest.mark.parametrize(
    ("path", "who", "status"),
    [
        ("/health", None, 200),
        ("/me", "alice", 200),
        ("/me", None, 401),
        ("/nothing", "alice", 404),
        ("/tasks/9", "alice", 404),
    ],
)
async def test_every_answer_says_the_version_of_the_service(world, path: str, who: str | None, status: int) -> None:
    async with world.ask("GET", path, who) as response:
        assert (response.status, response.headers.getall(VERSION_HEADER)) == (status, [__version__])


async def test_the_page_and_its_files_say_it_too(world) -> None:
    for path in ("/services/hai/", "/services/hai/page/main.0123456789abcdef.js"):
        async with world.client.get(f"{world.root}{path}", allow_redirects=False) as response:
            assert response.headers[VERSION_HEADER] == __version__


@pytest.mark.parametrize("version", ["0.1.0", "0.1.9", "0.2.0", "0.3.4", "0.2.0.dev1+g1"])
async def test_a_client_within_the_window_is_served(world, version: str) -> None:
    assert (await world.json("GET", "/me", headers=sent_by(version)))[0] == 200


@pytest.mark.parametrize(
    ("version", "words"), [("0.0.9", "hai 0.0.9 is too old"), ("0.4.0", "hai 0.4.0 is too new"), ("1.2.0", "too new")]
)
async def test_a_client_without_is_refused_before_anything_is_done(world, version: str, words: str) -> None:
    body = {"name": "train", "command": ["true"], "cwd": "/w"}
    status, problem = await world.json("POST", "/tasks", headers=sent_by(version), json=body)
    assert (status, problem["code"]) == (406, "version")
    assert words in problem["detail"]
    assert "pip install 'hai-client~=0.2.0'" in problem["detail"]
    async with world.store.read() as tx:
        assert not await tx.tasks.unfinished()
    # What everybody is told is told to it too: with it, a client finds out.
    assert (await world.json("GET", "/health", None, headers=sent_by(version)))[0] == 200


ODD = [
    "",
    "of-today",
    "9" * 10_000,
    "0.9.0\x9b31m",
    "0.9.0 0.9.0",
    "0.9.0'\"><script>",
    "%s%n{0}${jndi:ldap://x}",
    "0.9.0\u00e9",
]


@pytest.mark.parametrize("version", ODD, ids=lambda text: repr(text)[:20])
async def test_what_is_no_version_is_ignored_and_is_in_no_log_and_no_metric(
    world, caplog: pytest.LogCaptureFixture, version: str
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert (await world.json("GET", "/me", headers=sent_by(version)))[0] == 200
        assert (await world.json("GET", "/nothing", headers=sent_by(version)))[0] == 404
    marks = [mark for mark in (version[:40], "script", "jndi", "\x1b", "\x9b") if mark]
    assert not [record for record in caplog.records for mark in marks if mark in record.getMessage()]
    text = await metrics(world)
    assert not [mark for mark in marks if mark in text]


async def test_control_characters_are_in_no_log(world, caplog: pytest.LogCaptureFixture) -> None:
    """A client of aiohttp does not send them, so these are written by hand."""
    where = urlsplit(world.root)
    with caplog.at_level(logging.DEBUG):
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        lines = (
            f"GET {PREFIX}api/v1/me HTTP/1.1",
            "Host: hub",
            "Authorization: Bearer alice-token",
            "Connection: close",
        )
        head = "\r\n".join((*lines, f"{VERSION_HEADER}: 0.9.0\x1b]0;owned\x07", "", ""))
        writer.write(head.encode())
        answer = await reader.read()
        writer.close()
    assert answer.split()[1] in (b"200", b"400")
    assert b"owned" not in answer
    # The server refuses a malformed header with a quotation, in which nothing controls a terminal.
    assert not [record for record in caplog.records for mark in "\x1b\x07" if mark in record.getMessage()]


async def test_the_number_of_metrics_does_not_grow_with_versions(world) -> None:
    await world.json("GET", "/me", headers=sent_by("0.2.0"))
    await world.json("GET", "/me", headers=sent_by("0.9.0"))
    await metrics(world)
    before = len((await metrics(world)).splitlines())
    for number in range(20):
        await world.json("GET", "/me", headers=sent_by(f"0.2.{number}"))
        await world.json("GET", "/me", headers=sent_by(f"0.{10 + number}.0"))
    assert len((await metrics(world)).splitlines()) == before


# -- what all have -----------------------------------------------------------------------------------


async def told(world, who: str = "alice") -> Any:
    status, found = await world.json("GET", "/versions", who)
    assert status == 200
    return found


async def ask_as_run(world, run: str, version: str | None) -> int:
    headers = {"Authorization": f"Bearer {world.tokens.make(run).reveal()}"}
    if version is not None:
        headers[VERSION_HEADER] = version
    status, _ = await world.json("GET", f"/runs/{run}/notice?rank=0&seen=0&wait=0", None, headers=headers)
    return status


async def test_supervisors_of_live_runs_are_counted_by_version_and_never_refused(world) -> None:
    runs = [(await world.start(await world.submit(f"t{n}"), nodes=(f"node-{n}",))).run.id for n in (1, 2, 3)]
    assert [one for one in (await told(world))["parts"] if one["part"] == "supervisor"] == [
        {"part": "supervisor", "version": None, "count": 3}
    ]
    for run, version in zip(runs, ("0.1.0", "0.1.0+x", "7.7.7"), strict=True):
        assert await ask_as_run(world, run, version) == 200
    for odd in (None, *ODD[:4]):
        assert await ask_as_run(world, runs[0], odd) == 200
    assert [one for one in (await told(world))["parts"] if one["part"] == "supervisor"] == [
        {"part": "supervisor", "version": "0.1.0", "count": 2},
        {"part": "supervisor", "version": "7.7.7", "count": 1},
    ]


async def test_a_run_speaks_for_itself_alone(world) -> None:
    mine, other = [(await world.start(await world.submit(f"t{n}"), nodes=(f"node-{n}",))).run.id for n in (1, 2)]
    headers = {"Authorization": f"Bearer {world.tokens.make(mine).reveal()}", VERSION_HEADER: "9.9.9"}
    status, _ = await world.json("GET", f"/runs/{other}/notice?rank=0&seen=0&wait=0", None, headers=headers)
    assert status == 403
    assert {one["version"] for one in (await told(world))["parts"] if one["part"] == "supervisor"} == {None}


def test_no_more_runs_are_remembered_than_a_cluster_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisors, "_MOST", 3)
    heard = supervisors.Supervisors()
    for number in (1, 2, 3, 1, 4):
        heard.hear(f"{number}.1", "0.1.0")
    assert heard.of([f"{number}.1" for number in (1, 2, 3, 4)]) == {"0.1.0": 3, None: 1}


async def test_loop_database_and_what_is_installed_are_told(world) -> None:
    async def installed() -> Mapping[str, str | None]:
        return {"lab": "0.2.1", "chart": "0.3.0", "client": "0.2.0", "jupyterhub": None}

    world.platform.insight.part_versions.world = replace(world.platform.world, versions=installed)
    await world.loop_says(version="0.1.9")
    found = await told(world)
    assert found["service"] == __version__
    assert found["parts"] == [
        {"part": "loop", "version": "0.1.9", "count": 1},
        {"part": "panel", "version": "0.2.1", "count": 1},
        {"part": "chart", "version": "0.3.0", "count": 1},
    ]
    assert found["revision"] == found["known_revision"] != ""
