"""Logins on a running platform: no user can act as another, and each login leaves a record."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hai_hub.logins.slowing import FREE

if TYPE_CHECKING:
    from conftest import Up

SCOPES = ["custom:hai:tasks:write", "access:services!service=hai"]


def hai(up: Up, *words: str, stdin: str = "", home: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the `hai` command, as the admin or with the settings in `home` of another user."""
    environ = up.environ | ({} if home is None else {"XDG_CONFIG_HOME": str(home)})
    return subprocess.run(
        [sys.executable, "-m", "hai_client", *words],
        env=environ, input=stdin, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def add(up: Up, name: str) -> str:
    """Add a user; returns their password."""
    made = hai(up, "admin", "user", "add", name)
    assert made.returncode == 0, made.stderr
    assert "shown only now" in made.stderr
    assert "--unix-users" in made.stderr
    return made.stdout.strip()


async def form(up: Up, name: str, password: str) -> int:
    status, client = await up.log_in(name, password)
    await client.close()
    return status


async def token(up: Up, name: str, user: str, password: str, scopes: list[str] | None = None) -> int:
    """Ask for a token of `name`'s with the name and password of `user`."""
    body = {"auth": {"username": user, "password": password}, "scopes": SCOPES if scopes is None else scopes}
    async with up.api() as api, api.post(f"/hub/api/users/{name}/tokens", json=body) as answer:
        return int(answer.status)


async def test_guessing_is_slowed_for_that_name_and_logins_are_recorded(up: Up) -> None:
    fays = add(up, "fay")
    # A refusal takes a second at least, and the waits double from one second on.
    got = [await form(up, "fay", "guess") for _ in range(FREE + 5)]
    assert got[:FREE] == [403] * FREE
    assert 429 in got[FREE:]
    assert await form(up, "ann", up.password) == 302
    log = up.state / "logs" / "logins.log"
    text = log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert " ok user=ann from=127.0.0.1 by=/hub/login" in text
    assert " failed user=fay from=127.0.0.1 by=/hub/login" in text
    assert fays not in text
    assert "guess" not in text


async def test_no_user_can_become_another(up: Up, tmp_path: Path) -> None:
    bobs, carols = add(up, "bob"), add(up, "carol")
    assert len({bobs, carols, up.password}) == 3
    assert await form(up, "bob", bobs) == 302
    assert await form(up, "carol", carols) == 302
    for name, password in (("ann", bobs), ("ann", carols), ("carol", bobs), ("bob", carols), ("bob", up.password)):
        assert await form(up, name, password) == 403, name
        assert await token(up, name, name, password) == 403, name
        # With their own name and password, for another user.
        if password == bobs:
            assert await token(up, name, "bob", bobs) == 403
    assert await token(up, "bob", "bob", bobs) == 201
    assert await token(up, "bob", "bob", bobs, ["custom:hai:admin"]) == 400

    wrong = hai(up, "login", "--url", up.url, "--user", "ann", "--password-stdin", stdin=bobs, home=tmp_path)
    assert (wrong.returncode, "does not accept" in wrong.stderr) == (3, True)
    right = hai(up, "login", "--url", up.url, "--user", "bob", "--password-stdin", stdin=bobs, home=tmp_path)
    assert right.returncode == 0, right.stderr
    kept = json.loads((tmp_path / "hai" / "config.json").read_text())
    async with up.api(kept["token"]) as api, api.get("/hub/api/user") as answer:
        who: Any = await answer.json()
    assert who["name"] == "bob"
    assert "custom:hai:tasks:write" in who["scopes"]
    assert "custom:hai:admin" not in who["scopes"]
    # A user can make no password, not even their own.
    for name in ("ann", "carol", "bob"):
        assert hai(up, "admin", "user", "password", name, home=tmp_path).returncode == 3


async def test_a_new_password_ends_the_old_one_and_its_sessions(up: Up) -> None:
    first = add(up, "dora")
    status, client = await up.log_in("dora", first)
    assert status == 302
    async with client:
        async with client.get("/hub/home", allow_redirects=False) as home:
            assert home.status == 200
        made = hai(up, "--json", "admin", "user", "password", "dora")
        assert made.returncode == 0, made.stderr
        async with client.get("/hub/home", allow_redirects=False) as home:
            assert home.status == 302
    assert await form(up, "dora", first) == 403
    assert await form(up, "dora", json.loads(made.stdout)["password"]) == 302
    for name, word in (("nobody", "no user"), ("ann", "--password")):
        refused = hai(up, "admin", "user", "password", name)
        assert refused.returncode == 2 or refused.returncode == 1, refused
        assert word in refused.stderr


async def test_a_new_user_with_the_name_of_a_deleted_one_does_not_get_the_old_password(up: Up) -> None:
    before = add(up, "eve")
    async with up.api(up.login["token"]) as api:
        async with api.delete("/hub/api/users/eve") as answer:
            assert answer.status == 204
        assert await form(up, "eve", before) == 403
        async with api.post("/hub/api/users/eve") as answer:
            assert answer.status == 201
    assert await form(up, "eve", before) == 403


def test_no_password_is_in_a_log_or_in_the_secrets_as_it_is(up: Up) -> None:
    made = add(up, "gus")
    for file in [*(up.state / "logs").iterdir(), *(up.state / "secrets").iterdir()]:
        assert made not in file.read_text()
    for file in (up.state / "logs").iterdir():
        assert up.password not in file.read_text()
