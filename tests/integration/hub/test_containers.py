"""Sizes, limits and the end of servers at a real Hub: what is refused, what is remembered, and who may end what."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hai_hub.culler.__main__ import Culler
from hai_hub.culler.decision import CullPolicy, RunningServer
from hai_hub.culler.hub import HubApi, Unanswered
from hai_hub.culler.settings import CullPolicies
from kit.waiting import until

if TYPE_CHECKING:
    from conftest import Up

SETTINGS = """
sizes.small = { cpu = 1, memory = "1Gi" }
sizes.large = { cpu = 2, memory = "2Gi", lifetime = "2h" }
sizes.gpu = { cpu = 1, memory = "1Gi", resource = "nvidia.com/gpu" }
sizes.staff = { cpu = 1, memory = "1Gi", allow = { groups = ["staff"] } }
limits.large = { user = 1 }

[HaiCulling]
enabled = true
lifetime = "24h"
idle = "never"
"""


@pytest.fixture(scope="module")
def sized(tmp_path_factory: pytest.TempPathFactory, up_class: type[Up]) -> Iterator[Up]:
    """A platform with sizes, whose servers end."""
    made = up_class(tmp_path_factory.mktemp("sized") / "home")
    with (made.home / "hub.toml").open("a") as file:
        file.write(SETTINGS)
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture
async def hub(sized: Up) -> AsyncIterator[Any]:
    wanted = {"scopes": ["access:servers!user=ann", "read:users!user=ann", "servers!user=ann"]}
    async with sized.api(sized.login["token"]) as api, api.post("/hub/api/users/ann/tokens", json=wanted) as answer:
        assert answer.status == 201
        token = (await answer.json())["token"]
    async with sized.api(token) as api:
        yield api


async def start(hub: Any, options: dict[str, Any] | None) -> tuple[int, str]:
    body = None if options is None else {"user_options": options}
    async with hub.post("/hub/api/users/ann/server", json=body) as answer:
        text = await answer.text()
        return answer.status, json.loads(text)["message"] if answer.status >= 400 else ""


async def stop(hub: Any) -> None:
    async with hub.delete("/hub/api/users/ann/server") as answer:
        assert answer.status in (202, 204)
    await until_gone(hub)


async def until_gone(hub: Any) -> None:
    await until("the server to be gone", lambda: server(hub), met=lambda shown: shown is None)


async def server(hub: Any) -> dict[str, Any] | None:
    async with hub.get("/hub/api/users/ann") as answer:
        model = await answer.json()
    found: dict[str, Any] | None = model["servers"].get("")
    return found


async def environment(hub: Any) -> dict[str, str]:
    """What the server sees of it."""

    async def shown() -> dict[str, Any] | None:
        async with hub.get("/user/ann/", allow_redirects=False) as answer:
            served = answer.status == 200 and answer.content_type != "text/html"
            return dict(json.loads(await answer.text())["environ"]) if served else None

    return await until("the server of ann to answer", shown)


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        ({"profile": "tiny"}, 400, "there is no such size"),
        ({"profile": ["small"]}, 400, "profile is ['small']"),
        ({"cmd": ["sh"]}, 400, "'cmd'"),
        ({"profile": "staff"}, 403, "is for group staff"),
        ({"profile": "gpu"}, 503, "These would start now: small, large."),
    ],
    ids=["no such size", "no text", "no such option", "not allowed", "no device"],
)
async def test_what_cannot_start_is_refused_over_rest_with_its_status(
    hub: Any, options: dict[str, Any], status: int, words: str
) -> None:
    got, message = await start(hub, options)
    assert (got, await server(hub)) == (status, None)
    assert words in message


async def test_a_server_is_what_was_asked_for_and_the_next_one_knows_nothing_of_it(hub: Any) -> None:
    for size, memory in (("large", 2), ("small", 1)):
        status, message = await start(hub, {"profile": size})
        assert status in (201, 202), message
        env = await environment(hub)
        assert (env["HAI_SIZE"], env["MEM_LIMIT"]) == (size, str(memory * 2**30))
        assert env["CUDA_VISIBLE_DEVICES"] == ""
        await stop(hub)


async def test_a_refused_option_does_not_stand_in_the_way_of_the_next_start(hub: Any) -> None:
    assert (await start(hub, {"profile": "tiny"}))[0] == 400
    status, message = await start(hub, None)
    assert status in (201, 202), message
    assert (await environment(hub))["HAI_SIZE"] == "small"
    await stop(hub)


async def test_a_users_server_is_told_when_it_ends_and_is_given_more_time(hub: Any, sized: Up) -> None:
    assert (await start(hub, {"profile": "large"}))[0] in (201, 202)
    env = await environment(hub)
    assert env["HAI_CULLER_URL"] == f"{sized.url}/services/hai-culler"
    assert env["HAI_IDLE_KEEP"] == "kernels"
    async with sized.api(env["JUPYTERHUB_API_TOKEN"]) as api:
        told: dict[str, Any] = {}
        async with asyncio.timeout(120):
            # The service looks every half minute.
            while not told:
                async with api.get("/services/hai-culler/api/server") as answer:
                    told = await answer.json(content_type=None) if answer.status == 200 else {}
                    assert answer.status in (200, 404)
                await asyncio.sleep(0.2)
        assert (told["reason"], told["warning"], told["renewable"]) == ("lifetime", False, True)
        left = datetime.fromisoformat(told["ends_at"]) - datetime.fromisoformat(told["now"])
        assert timedelta(minutes=110) < left <= timedelta(hours=2)
        async with api.post("/services/hai-culler/api/server") as answer:
            renewed = await answer.json()
        assert renewed["ends_at"] > told["ends_at"]
    async with sized.api() as api, api.get("/services/hai-culler/api/server") as answer:
        assert answer.status == 401
    (kept,) = json.loads((sized.state / "culler.json").read_text())["servers"]
    assert kept["renewed_at"] is not None
    await stop(hub)


def culler_environment(sized: Up) -> dict[str, str]:
    (pid,) = [pid for pid, line in sized.left().items() if "-m hai_hub.culler" in line]
    pairs = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


async def test_a_server_at_the_end_of_its_time_is_ended_with_the_cullers_own_rights(
    hub: Any, sized: Up, tmp_path: Path
) -> None:
    """The same code as in the service, with its token, a day later."""
    assert (await start(hub, {"profile": "small"}))[0] in (201, 202)
    await environment(hub)
    env = culler_environment(sized)
    now = [datetime.now(UTC)]
    terms = CullPolicies(usual=CullPolicy(idle=None))
    async with HubApi(hub=env["JUPYTERHUB_API_URL"], scheduler="", token=env["JUPYTERHUB_API_TOKEN"]) as api:
        culler = Culler(api, terms, tmp_path / "culler.json", lambda: now[0])
        await culler.look()
        now[0] += timedelta(hours=24)
        await culler.look()
        assert (await server(hub)) is not None
        now[0] += terms.usual.warn
        await culler.look()
        await until_gone(hub)
        # It may stop servers and do nothing else.
        stranger = RunningServer(user="nobody", name="", started=now[0], last_activity=now[0])
        with pytest.raises(Unanswered):
            await api.stop(stranger)
    async with sized.api(env["JUPYTERHUB_API_TOKEN"]) as service:
        for path in ("/hub/api/users/ann/server", "/hub/api/users/zoe", "/hub/api/users/ann/tokens"):
            async with service.post(path) as answer:
                assert answer.status == 403
