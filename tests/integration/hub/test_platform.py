"""A platform that runs: who may log in, who may do what, and what happens when the service dies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.waiting import until

if TYPE_CHECKING:
    from conftest import Up

API = "/services/hai/api/v1"


def test_it_says_where_it_is_who_may_log_in_and_what_to_type(up: Up) -> None:
    for word in (up.url, "ann", up.password, "3, each with 2 simulated GPUs", str(up.state), "hai submit --nodes 2"):
        assert word in up.output
    assert len(up.password) >= 8


def test_the_hai_command_finds_its_login(up: Up) -> None:
    assert (up.login["url"], up.login["user"]) == (up.url, "ann")
    file = up.home / "config" / "hai" / "config.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("user", "password", "status"), [("ann", None, 302), ("ann", "wrong password", 403), ("eva", None, 403)]
)
async def test_the_local_user_alone_may_log_in_with_the_password(
    up: Up, user: str, password: str | None, status: int
) -> None:
    got, client = await up.log_in(user, password or up.password)
    await client.close()
    assert got == status


async def test_a_user_that_the_administrator_adds_may_use_their_own_tasks_only(up: Up) -> None:
    async with up.api(up.login["token"]) as api:
        async with api.post("/hub/api/users/bob", json={"admin": False}) as answer:
            assert answer.status == 201
        wanted = {"scopes": ["custom:hai:tasks:write", "access:services!service=hai"]}
        async with api.post("/hub/api/users/bob/tokens", json=wanted) as answer:
            assert answer.status == 201
            token = (await answer.json())["token"]
        async with api.post("/hub/api/users/bob/tokens", json={"scopes": ["custom:hai:admin"]}) as answer:
            assert answer.status == 400
    status, client = await up.log_in("bob", up.password)
    await client.close()
    assert status == 403
    async with up.api(token) as api:
        async with api.get(API + "/me") as answer:
            me: dict[str, Any] = await answer.json()
        async with api.get("/hub/api/users") as answer:
            assert answer.status == 403
    assert me["name"] == "bob"
    assert {"custom:hai:tasks:read", "custom:hai:tasks:write"} <= set(me["scopes"])
    assert not {"custom:hai:admin", "custom:hai:metrics"} & set(me["scopes"])


async def test_the_local_users_token_is_an_administrators(up: Up) -> None:
    async with up.api(up.login["token"]) as api, api.get(API + "/me") as answer:
        me = await answer.json()
    assert {"custom:hai:admin", "custom:hai:metrics", "custom:hai:tasks:write"} <= set(me["scopes"])


async def test_the_token_of_up_is_good_for_the_local_users_tokens_and_nothing_else(up: Up) -> None:
    token = (up.state / "secrets" / "up_token").read_text().strip()
    async with up.api(token) as api:
        async with api.get("/hub/api/users") as answer:
            assert answer.status == 403
        async with api.post("/hub/api/users/zoe") as answer:
            assert answer.status == 403
        async with api.get(API + "/me") as answer:
            assert answer.status == 401


async def test_a_users_server_knows_the_platform_and_none_of_its_secrets(up: Up) -> None:
    status, client = await up.log_in("ann", up.password)
    assert status == 302
    async with client:
        async with client.get("/hub/spawn") as page:
            assert page.status == 200

        async def page() -> dict[str, Any] | None:
            async with client.get("/user/ann/") as answer:
                served = answer.status == 200 and answer.content_type != "text/html"
                return json.loads(await answer.text()) if served else None

        shown = await until("the server of ann to answer", page)
    env: dict[str, str] = shown["environ"]
    home = up.state / "home" / "ann"
    assert (env["HAI_URL"], env["HOME"], shown["cwd"]) == (up.url, str(home), str(home))
    assert env["HAI_API_URL"].endswith(API)
    assert not {"HAI_HUB_SETTINGS", "SECRET_OF_MINE", "PYTHONPATH"} & set(env)
    values = set(env.values())
    assert not [file for file in (up.state / "secrets").iterdir() if file.read_text().strip() in values]
    async with up.api(env["JUPYTERHUB_API_TOKEN"]) as api:
        async with api.get(API + "/me") as answer:
            scopes = (await answer.json())["scopes"]
        async with api.get("/hub/api/users") as answer:
            assert answer.status == 403
    assert "custom:hai:tasks:write" in scopes
    assert "custom:hai:admin" not in scopes


async def test_a_killed_service_is_started_again_on_the_same_port(up: Up) -> None:
    before = up.service_pid()
    assert before is not None
    os.kill(before, signal.SIGKILL)
    async with up.api() as api, asyncio.timeout(120):
        while True:
            async with api.get(API + "/health") as answer:
                if answer.status == 200:
                    break
                # 502: the service was killed while it had the question.
                assert answer.status in (502, 503)
                assert answer.content_type == "application/problem+json"
            await asyncio.sleep(0.05)
    assert up.service_pid() not in (None, before)


def test_no_secret_is_on_any_command_line_in_any_log_or_in_the_hubs_settings(up: Up) -> None:
    secrets = [file.read_text().strip() for file in (up.state / "secrets").iterdir()] + [up.login["token"]]
    shown = " ".join(up.left().values())
    for file in [*(up.state / "logs").iterdir(), up.state / "hub" / "settings.json"]:
        shown += file.read_text()
    assert len(secrets) == 6
    assert not [secret for secret in secrets if secret in shown]


def test_the_service_gets_what_it_needs_of_the_environment_and_no_more(up: Up) -> None:
    names = set(json.loads((up.state / "service_environment.json").read_text()))
    assert {"JUPYTERHUB_API_TOKEN", "JUPYTERHUB_SERVICE_PREFIX", "HOME", "PATH"} <= names
    assert not {"SECRET_OF_MINE", "HAI_HUB_SETTINGS", "XDG_CONFIG_HOME"} & names


def test_everything_below_the_state_folder_belongs_to_its_owner_alone(up: Up) -> None:
    assert stat.S_IMODE(up.state.stat().st_mode) == 0o700
    for file in (up.state / "secrets").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for file in up.state.glob("jupyterhub.sqlite*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_second_one_for_the_same_folder_is_refused_in_one_line(up: Up) -> None:
    second = subprocess.run(
        up.command("--port", "1024"), env=up.environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert (second.returncode, second.stdout, second.stderr.count("\n")) == (2, "", 1)
    assert "another `hai up`" in second.stderr


def test_a_port_in_use_is_refused_in_one_line_and_starts_nothing(up: Up, tmp_path: Path) -> None:
    other = type(up)(tmp_path / "home", port=up.port)
    second = subprocess.run(
        other.command(), env=other.environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert (second.returncode, second.stdout, second.stderr.count("\n")) == (2, "", 1)
    assert f"port {up.port} on 127.0.0.1 is in use by" in second.stderr
    assert other.left() == {}
