"""`hai login` by way of a browser at a real Hub: who gets a token, for what, and who does not."""

from __future__ import annotations

import asyncio
import json
import re
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from hai_hub.logins.device_grants import MOST_OF_NETWORK
from hai_hub.logins.device_handlers import GRANT
from hai_hub.logins.user_limits import MOST_TOKENS
from kit.waiting import until, wait_for

if TYPE_CHECKING:
    from conftest import Up

PAGE = "/hub/hai/device"
EVIL = "<script>alert(1)</script>\u202e" + "x" * 5000


@pytest.fixture(scope="module")
def passwords(up: Up) -> dict[str, str]:
    return {"ann": up.password, "bob": up.add("bob"), "eve": up.add("eve")}


async def begin(up: Up, host: str = "login3", scope: str = "tasks", **headers: str) -> tuple[int, Any]:
    form = {"client_id": "hai", "host": host, "scope": scope}
    async with up.api() as api, api.post(f"{PAGE}/code", data=form, headers=headers) as answer:
        return answer.status, await answer.json()


async def ask(up: Up, code: str) -> tuple[int, Any]:
    form = {"client_id": "hai", "grant_type": GRANT, "device_code": code}
    async with up.api() as api, api.post(f"{PAGE}/token", data=form) as answer:
        assert answer.headers["Cache-Control"] == "no-store"
        return answer.status, await answer.json()


class Person:
    """Somebody who has signed in in a browser."""

    def __init__(self, client: aiohttp.ClientSession) -> None:
        self.client = client

    async def page(self, **headers: str) -> tuple[str, Any]:
        async with self.client.get(PAGE, headers=headers) as answer:
            assert answer.status == 200
            return await answer.text(), answer.headers

    async def types(self, code: str, answer: str = "", **changes: str) -> tuple[int, str]:
        found = re.search(r'name="_xsrf" value="([^"]*)"', (await self.page())[0])
        assert found is not None
        form = {"_xsrf": found[1], "user_code": code, "answer": answer} | changes
        async with self.client.post(PAGE, data=form) as got:
            return got.status, await got.text()


@pytest.fixture
async def people(up: Up, passwords: dict[str, str]) -> AsyncIterator[dict[str, Person]]:
    made = {}
    for name, password in passwords.items():
        status, client = await up.log_in(name, password)
        assert status == 302
        made[name] = Person(client)
    yield made
    for person in made.values():
        await person.client.close()


async def test_a_person_lets_a_machine_in_and_the_token_is_given_once(up: Up, people: dict[str, Person]) -> None:
    status, begun = await begin(up)
    assert (status, begun["verification_uri"]) == (200, f"{up.url}{PAGE}")
    assert re.fullmatch(r"[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}", begun["user_code"])
    status, text = await people["bob"].types(begun["user_code"].lower())
    assert status == 200
    for word in ("login3", "127.0.0.1", "submit and change your tasks", "as bob?", "30 days"):
        assert word in text
    assert "quota" not in text, "a right that was not asked for"
    status, text = await people["bob"].types(begun["user_code"], "yes")
    assert (status, "The command is logged in" in text) == (200, True)
    got = (await ask(up, begun["device_code"]))[1]
    assert (got["user"], got["token_type"]) == ("bob", "Bearer")
    assert (await ask(up, begun["device_code"]))[1]["error"] == "expired_token"
    async with up.api(got["access_token"]) as api:
        async with api.get("/hub/api/user") as answer:
            who = await answer.json()
        assert who["name"] == "bob"
        assert not {one for one in who["scopes"] if "admin" in one or "tokens" in one}, "no wider than shown"
        async with api.get("/hub/hai/token") as answer:
            said = await answer.json()
        assert said["user"] == "bob"
        assert said["expires_at"][:10] == got["expires_at"][:10]
        async with api.delete("/hub/hai/token") as answer:
            assert answer.status == 204
        async with api.get("/hub/hai/token") as answer:
            assert answer.status == 401


async def test_a_no_is_told_and_of_two_answers_the_first_counts(up: Up, people: dict[str, Person]) -> None:
    _, begun = await begin(up)
    answers = await asyncio.gather(
        people["bob"].types(begun["user_code"], "no"), people["eve"].types(begun["user_code"], "yes")
    )
    assert sorted(status for status, _ in answers) == [200, 404]
    won = "no" if answers[0][0] == 200 else "yes"
    _, told = await ask(up, begun["device_code"])
    assert told.get("error", told.get("user")) == ("access_denied" if won == "no" else "eve")


async def test_nobody_answers_without_a_session_the_pages_proof_or_the_code(up: Up, people: dict[str, Person]) -> None:
    _, begun = await begin(up)
    code = begun["user_code"]
    async with up.api() as api:
        async with api.get(PAGE, allow_redirects=False) as answer:
            assert answer.status == 302
            assert answer.headers["Location"] == "/hub/login?next=%2Fhub%2Fhai%2Fdevice"
        async with api.post(PAGE, data={"user_code": code, "answer": "yes"}) as answer:
            assert answer.status == 403
    async with up.api(up.login["token"]) as api, api.post(PAGE, data={"user_code": code, "answer": "yes"}) as answer:
        assert answer.status == 403, "a token is no person"
    assert (await people["bob"].types(code, "yes", _xsrf="wrong"))[0] == 403
    async with people["bob"].client.get(f"{PAGE}?user_code={code}&answer=yes&next=https://evil.example") as answer:
        assert (answer.status, "login3" in await answer.text()) == (200, False), "no code comes with a link"
    assert (await begin(up, Origin="https://evil.example"))[0] == 403
    assert (await begin(up, scope="inherit"))[1]["error"] == "invalid_scope"
    assert (await ask(up, begun["device_code"]))[1]["error"] == "authorization_pending"


async def test_what_a_machine_calls_itself_is_shown_as_text_and_short(up: Up, people: dict[str, Person]) -> None:
    _, begun = await begin(up, host=EVIL)
    _, text = await people["bob"].types(begun["user_code"])
    assert "alert(1)" not in text
    assert "?script?alert?1???script?" in text
    assert "\u202e" not in text
    assert "x" * 65 not in text
    _, headers = await people["bob"].page()
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    chinese, _ = await people["bob"].page(**{"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8"})
    assert "请输入" in chinese


async def test_an_admin_gives_the_rights_that_were_asked_for_and_others_what_they_have(
    up: Up, people: dict[str, Person]
) -> None:
    for name, rights in (("ann", True), ("bob", False)):
        _, begun = await begin(up, scope="admin")
        _, text = await people[name].types(begun["user_code"])
        assert ("on nodes and on quota" in text) is rights
        await people[name].types(begun["user_code"], "yes")
        assert ("custom:hai:admin" in (await ask(up, begun["device_code"]))[1]["scope"]) is rights


async def test_guesses_slow_down_who_guesses_and_nobody_else(up: Up, people: dict[str, Person]) -> None:
    _, begun = await begin(up)
    got = [(await people["eve"].types("BBBB-BBBB"))[0] for _ in range(8)]
    assert got[:5] == [404] * 5
    assert 429 in got[5:]
    assert (await people["bob"].types(begun["user_code"]))[0] == 200
    async with up.api() as api:
        for number in range(300):
            form = {"grant_type": GRANT, "device_code": f"guess-{number}"}
            async with api.post(f"{PAGE}/token", data=form) as answer:
                assert (await answer.json())["error"] == "expired_token"


@pytest.fixture
def waiting(up: Up, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    environ = up.environ | {"XDG_CONFIG_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    log = tmp_path / "said"
    with log.open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "hai_client", "login", "--url", up.url],
            env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, text=True,
        )  # fmt: skip
    yield process, log
    process.kill()
    process.wait()


async def test_the_command_from_the_address_to_the_logout(
    up: Up, people: dict[str, Person], waiting: tuple[subprocess.Popen[str], Path], tmp_path: Path
) -> None:
    process, log = waiting
    wait_for("the code", lambda: "type the code" in log.read_text())
    assert f"open {up.url}{PAGE} " in log.read_text()
    found = re.search(r"type the code ([A-Z-]+)", log.read_text())
    assert found is not None
    assert (await people["bob"].types(found[1], "yes"))[0] == 200
    out, _ = await asyncio.to_thread(process.communicate, timeout=120)
    assert f"logged in at {up.url} as bob until " in out
    file = tmp_path / "hai" / "config.json"
    kept = json.loads(file.read_text())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {"url", "user", "token", "ends"} <= set(kept)
    assert kept["token"] not in out + log.read_text()

    environ = up.environ | {"XDG_CONFIG_HOME": str(tmp_path)}
    end = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "hai_client", "logout"],
        env=environ, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "the token is revoked" in end.stdout
    assert "token" not in {name for name, value in json.loads(file.read_text()).items() if value}
    async with up.api(kept["token"]) as api, api.get("/hub/api/user") as answer:
        assert answer.status == 403
    for line in (up.state / "logs" / "hub.log").read_text().splitlines():
        assert kept["token"] not in line
        assert found[1] not in line


async def consented(up: Up, person: Person) -> str:
    """A login to which a person has said yes: the command's code."""
    _, begun = await begin(up)
    assert (await person.types(begun["user_code"], "yes"))[0] == 200
    return str(begun["device_code"])


async def test_who_changed_between_the_yes_and_the_token_gets_none(up: Up, people: dict[str, Person]) -> None:
    async with up.api(await up.token_of_an_admin()) as admin:

        async def refused(name: str, *, deletes: bool) -> str:
            """What the command is told if an admin deletes or archives the user in between."""
            password = up.add(name)
            status, client = await up.log_in(name, password)
            assert status == 302
            code = await consented(up, Person(client))
            await client.close()

            async def knows() -> bool:
                status, client = await up.log_in(name, password)
                await client.close()
                return status != 302

            if deletes:
                async with admin.delete(f"/hub/api/users/{name}") as answer:
                    assert answer.status == 204, await answer.text()
            else:
                up.archive(name)
                # The Hub may go by an answer of the last second.
                await until("the Hub to know", knows)
            _, told = await ask(up, code)
            assert told["error"] == "access_denied", told
            return str(told["error_description"])

        # The Hub archives whom it deletes.
        assert "del is archived" in await refused("del", deletes=True)
        assert "arc is archived" in await refused("arc", deletes=False)
    up.archive()


async def test_who_has_the_most_tokens_is_told_and_gets_none(up: Up, people: dict[str, Person]) -> None:
    code = await consented(up, people["eve"])
    async with up.api(await up.token_of_an_admin()) as admin:
        for _ in range(MOST_TOKENS):
            async with admin.post("/hub/api/users/eve/tokens", json={}) as answer:
                assert answer.status == 201
    _, told = await ask(up, code)
    assert (told["error"], f"{MOST_TOKENS} tokens" in told["error_description"]) == ("access_denied", True)


async def test_a_service_or_nobody_has_no_token_of_their_own_to_end(up: Up) -> None:
    for token in (None, "made-up", (up.state / "secrets" / "service_token").read_text().strip()):
        async with up.api(token) as api:
            for method in ("GET", "DELETE"):
                async with api.request(method, "/hub/hai/token") as answer:
                    assert (answer.status, "does not know" in (await answer.json())["message"]) == (401, True)


async def test_an_address_that_a_machine_names_itself_is_not_shown(up: Up, people: dict[str, Person]) -> None:
    _, begun = await begin(up, **{"X-Forwarded-For": "6.6.6.6", "X-Real-Ip": "6.6.6.6"})
    _, text = await people["bob"].types(begun["user_code"])
    assert "6.6.6.6" not in text
    assert "127.0.0.1" in text


async def test_one_address_cannot_take_all_places(up: Up) -> None:
    """Last: it fills the places of this address."""
    answers = [(await begin(up))[0] for _ in range(MOST_OF_NETWORK + 1)]
    assert answers[0] == 200
    assert answers[-1] == 429
