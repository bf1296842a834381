"""Whatever of the platform is killed comes back by itself, and nothing else is touched by it."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import pytest

from hai_hub.up.restarter import LIMIT
from kit.waiting import until

if TYPE_CHECKING:
    from conftest import Up

API = "/services/hai/api/v1"
MINUTE = 60.0


async def open_server(up: Up) -> aiohttp.ClientSession:
    """Log in as ann, start her server and wait for it; the browser's session."""
    status, client = await up.log_in("ann", up.password)
    assert status == 302
    async with client.get("/hub/spawn") as page:
        assert page.status == 200
    await until_served(client)
    return client


async def until_served(client: aiohttp.ClientSession) -> None:
    """Until her server answers, by way of the proxy."""

    async def served() -> bool:
        try:
            async with client.get("/user/ann/") as answer:
                return answer.status == 200 and answer.content_type != "text/html"
        except aiohttp.ClientConnectionError:
            return False

    await until("the server of ann to answer", served)


async def until_known(up: Up) -> None:
    """Until the service is reached through the Hub, and the Hub tells it whose token that is."""

    async def known() -> bool:
        try:
            async with api.get(API + "/me") as answer:
                return answer.status == 200
        except aiohttp.ClientConnectionError:
            return False

    async with up.api(up.login["token"]) as api:
        await until("the service to know the token", known)


async def test_a_killed_hub_is_started_again_beside_the_service_and_the_servers(fresh: Up) -> None:
    fresh.start()
    async with await open_server(fresh) as browser:
        service, server, hub = fresh.service_pid(), fresh.server_pid(), fresh.hub_pid()
        assert None not in (service, server, hub)
        for _ in range(2):
            assert hub is not None
            os.kill(hub, signal.SIGKILL)
            await until_known(fresh)
            await until_served(browser)
            assert (fresh.service_pid(), fresh.server_pid()) == (service, server)
            assert fresh.hub_pid() not in (None, hub)
            hub = fresh.hub_pid()
        assert fresh.output.count("JupyterHub ended by SIGKILL; it is started again") == 2
    assert fresh.send(signal.SIGINT) == 0
    assert fresh.left() == {}, "Ctrl-C ends servers too that an earlier Hub had started"


async def test_a_token_is_not_unknown_while_the_hubs_database_errs(fresh: Up) -> None:
    fresh.start()
    await until_known(fresh)
    files = sqlite3.connect(fresh.state / "jupyterhub.sqlite", isolation_level=None)
    # As if the disk were full: nothing is read or written by anyone else.
    files.execute("BEGIN EXCLUSIVE")
    for given, status in ((fresh.login["token"], 503), (None, 403)):
        async with fresh.api(given) as client, client.get("/hub/api/user") as answer:
            assert answer.status == status
            assert given is None or "The Hub's database cannot do it now" in await answer.text()
    files.execute("ROLLBACK")
    files.close()
    await until_known(fresh)
    assert fresh.send(signal.SIGINT) == 0


async def test_a_killed_hai_up_leaves_servers_that_the_next_one_takes_over(fresh: Up) -> None:
    fresh.start()
    async with await open_server(fresh) as browser:
        before = (fresh.hub_pid(), fresh.service_pid())
        server = fresh.server_pid()
        assert fresh.send(signal.SIGKILL) == -signal.SIGKILL
        fresh.start()
        await until_served(browser)
        assert fresh.server_pid() == server
        assert not {*before} & {fresh.hub_pid(), fresh.service_pid()}
    assert fresh.send(signal.SIGINT) == 0
    assert fresh.left() == {}


async def test_servers_of_a_killed_hub_end_with_hai_up_even_if_no_hub_is_left_to_end_them(fresh: Up) -> None:
    fresh.start()
    async with await open_server(fresh):
        assert fresh.send(signal.SIGKILL) == -signal.SIGKILL
        assert fresh.server_pid() is not None
        fresh.launch()
        assert fresh.process is not None
        _wait_until_said(fresh, "Starting HAI")
        fresh.process.send_signal(signal.SIGTERM)
        assert fresh.process.wait(MINUTE) == 130
    assert fresh.left() == {}


async def test_a_service_that_dies_before_the_hub_is_up_ends_nothing(fresh: Up) -> None:
    process = fresh.launch()
    _wait_until_said(fresh, "scheduler service is up")
    killed: set[int] = set()
    while len(killed) < 2:
        pid = fresh.service_pid()
        if pid is not None and pid not in killed:
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
    _wait_until_said(fresh, "Ctrl-C stops everything")
    await until_known(fresh)
    assert process.poll() is None
    assert fresh.output.count("scheduler service ended by SIGKILL; it is started again") == 2


def test_a_hub_that_dies_while_it_starts_is_started_again(fresh: Up) -> None:
    process = fresh.launch()
    deadline = time.monotonic() + MINUTE
    while (hub := fresh.hub_pid()) is None:
        assert time.monotonic() < deadline
    os.kill(hub, signal.SIGKILL)
    _wait_until_said(fresh, "Ctrl-C stops everything")
    assert process.poll() is None


def test_a_hub_that_cannot_start_ends_hai_up_with_the_end_of_its_log(fresh: Up) -> None:
    with (fresh.home / "hub.toml").open("a") as file:
        file.write('[JupyterHub]\nspawner_class = "no.such.Spawner"\n')
    process = fresh.launch()
    assert process.wait(MINUTE) == 1
    assert "JupyterHub ended with status 1, 2 times in a row before it answered; the end of " in fresh.output
    assert "no.such.Spawner" in fresh.output.rpartition("the end of ")[2]
    assert fresh.left() == {}


def test_a_hub_that_dies_again_and_again_while_it_starts_ends_hai_up(fresh: Up) -> None:
    process = fresh.launch()
    killed: set[int] = set()
    deadline = time.monotonic() + MINUTE
    while process.poll() is None:
        assert time.monotonic() < deadline
        hub = fresh.hub_pid()
        if hub is not None and hub not in killed:
            os.kill(hub, signal.SIGKILL)
            killed.add(hub)
    assert (process.returncode, len(killed)) == (1, LIMIT)
    assert f"JupyterHub ended by SIGKILL, {LIMIT} times in a row before it answered" in fresh.output
    assert fresh.left() == {}


async def test_where_the_hub_looks_after_the_service_it_is_told_the_same(fresh: Up) -> None:
    """What `hai up` tells the service is what JupyterHub would."""
    fresh.start()
    apart = _service_environment(fresh)
    hub, service = fresh.hub_pid(), fresh.service_pid()
    assert hub is not None
    assert service is not None
    assert fresh.send(signal.SIGINT) == 0
    with (fresh.home / "hub.toml").open("a") as file:
        # Any setting on which it depends what a service is told.
        file.write('[JupyterHub]\nsubdomain_host = ""\n')
    fresh.start()
    below = _service_environment(fresh)
    assert {name: below.get(name) for name in apart} == apart
    assert set(below) - set(apart) <= {
        "JPY_API_TOKEN",
        "JUPYTERHUB_COOKIE_HOST_PREFIX_ENABLED",
        "JUPYTERHUB_PUBLIC_HUB_URL",
        "JUPYTERHUB_PUBLIC_URL",
        "JUPYTERHUB_SERVER_NAME",
        "JUPYTERHUB_USER",
        "MEM_GUARANTEE",
    }
    before = fresh.service_pid()
    assert before is not None
    os.kill(before, signal.SIGKILL)
    await until_known(fresh)
    assert fresh.service_pid() not in (None, before), "the Hub has started it again"


@pytest.mark.parametrize("overrides", ["not toml", "[hub]\n"])
def test_a_file_of_settings_that_cannot_be_read_is_told_before_anything_starts(fresh: Up, overrides: str) -> None:
    (fresh.home / "hub.toml").write_text(overrides)
    process = fresh.launch()
    assert process.wait(MINUTE) == 2
    assert str(fresh.home / "hub.toml") in fresh.output
    assert len(fresh.output.splitlines()) == 1


def _service_environment(up: Up) -> dict[str, str]:
    pid = up.service_pid()
    assert pid is not None
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)


def _wait_until_said(up: Up, words: str) -> None:
    deadline = time.monotonic() + MINUTE
    while words not in up.output:
        assert up.process is not None
        assert up.process.poll() is None, up.output
        assert time.monotonic() < deadline
        time.sleep(0.02)
