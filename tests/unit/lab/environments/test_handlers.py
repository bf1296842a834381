"""The server's part of the *Environments* view: what it passes to haienv, and what the browser gets."""

from __future__ import annotations

from typing import Any

import pytest

from unit.lab.conftest import LAB_TOKEN, cookies_of, said
from unit.lab.environments.environments_kit import ENVIRONMENTS, events

pytestmark = pytest.mark.usefixtures("calls")


async def test_environments_are_listed_with_whose_may_be_changed(ask, calls) -> None:
    found = said(await ask("GET", ENVIRONMENTS))
    assert found["items"] == [{"name": "users/alice/vision", "trouble": ""}]
    assert found["builds"] == []
    assert found["owners"][0].startswith("users/")
    assert calls() == [[["list", "--offer", "--json"], None]], "the server's token is not handed on"


async def test_two_generations_are_compared_and_one_is_shown(ask, calls) -> None:
    shown = await ask("GET", f"{ENVIRONMENTS}/show", params={"name": "base/torch@2"})
    assert said(shown) == {"verb": "show"}
    await ask("GET", f"{ENVIRONMENTS}/diff", params={"before": "base/torch@2", "after": "base/torch@3"})
    words = [["show", "base/torch@2", "--json"], ["diff", "base/torch@2", "base/torch@3", "--json"]]
    assert [call[0] for call in calls()] == words
    refused = await ask("GET", f"{ENVIRONMENTS}/show", params={"name": "base/refused"})
    assert (refused.code, said(refused)["detail"]) == (400, "environment: there is none")


@pytest.mark.parametrize("name", ["", "--help", "vision", "base/../x", "users/ann/vision@0", "base/x y"])
async def test_no_name_can_become_an_option(ask, calls, name) -> None:
    response = await ask("GET", f"{ENVIRONMENTS}/show", params={"name": name})
    assert response.code == 400
    assert "name is" in said(response)["detail"]
    assert calls() == []


@pytest.mark.parametrize(
    ("verb", "path"),
    [("GET", ""), ("GET", "/show"), ("GET", "/diff"), ("GET", "/watch"), ("GET", "/builds/1/log"), ("POST", "/builds"),
     ("POST", "/builds/1/stop"), ("POST", "/freeze")],
)  # fmt: skip
async def test_nobody_else_is_answered(stranger, calls, verb, path) -> None:
    assert (await stranger(verb, f"{ENVIRONMENTS}{path}")).code == 403
    assert calls() == []


async def test_a_cookie_alone_changes_nothing_without_the_xsrf_token(stranger, calls) -> None:
    cookies = cookies_of(await stranger("GET", f"?token={LAB_TOKEN}"))
    body = {"verb": "remove", "name": "users/alice/vision"}
    refused = await stranger("POST", f"{ENVIRONMENTS}/builds", send=body, headers=cookies)
    assert refused.code == 403
    assert calls() == []


async def test_without_haienv_the_remedy_is_said(ask, monkeypatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    response = await ask("GET", ENVIRONMENTS)
    assert response.code == 503
    assert "hai-env[build]" in said(response)["detail"]


async def test_a_publication_is_noticed_within_a_second(stream, tmp_path, monkeypatch) -> None:
    root = tmp_path / "envs"
    env = root / "users/alice/vision"
    env.mkdir(parents=True)
    monkeypatch.setenv("HAIENV_ROOT", str(root))
    monkeypatch.setenv("JUPYTER_PATH", f"{root}/users/alice/.jupyter:{root}/base/.jupyter:/other")
    watch = stream(f"{ENVIRONMENTS}/watch")
    await watch.until(lambda text: len(events(text)) == 1)
    (env / "current").symlink_to("generations/1")
    text = await watch.until(lambda text: len(events(text)) == 2)
    assert [data["environments"] for _, data in events(text)] == [0, 1]


async def test_what_others_share_is_looked_for_and_its_publications_are_seen(
    stream, calls, tmp_path, monkeypatch
) -> None:
    root = tmp_path / "envs"
    theirs = root / "users/bob/vision"
    theirs.mkdir(parents=True)
    (theirs / "current").symlink_to("generations/1")
    own = root / "users/alice/.jupyter/kernels"
    own.mkdir(parents=True)
    monkeypatch.setenv("HAIENV_ROOT", str(root))
    monkeypatch.setenv("JUPYTER_PATH", f"{root}/users/alice/.jupyter")
    watch = stream(f"{ENVIRONMENTS}/watch")
    await watch.until(lambda text: len(events(text)) == 1)
    (own / "haienv-users-bob-vision").symlink_to("../../../bob/vision/current/kernel/others")
    await watch.until(lambda text: len(events(text)) == 2)
    (theirs / "current").unlink()
    (theirs / "current").symlink_to("generations/2")
    text = await watch.until(lambda text: len(events(text)) >= 3)
    # After the first generation the link itself may be seen missing for a moment.
    assert [data["environments"] for _, data in events(text)][:2] == [0, 1]
    assert [call[0] for call in calls()] == [["list", "--offer", "--json"]]


async def test_a_draft_is_frozen_before_a_task_is_submitted(ask: Any, calls: Any) -> None:
    answer = await ask("POST", f"{ENVIRONMENTS}/freeze", send={"name": "users/alice/vision"})
    assert answer.code == 200
    assert said(answer) == {"changed": True, "generation": 2}
    assert calls()[-1][0] == ["freeze", "users/alice/vision", "--if-draft", "--json"]


@pytest.mark.parametrize("body", [{}, [], {"name": "vision"}, {"name": "users/alice/vision@2"}, {"name": "--look"}])
async def test_a_freeze_takes_a_full_name_only(ask: Any, calls: Any, body: Any) -> None:
    answer = await ask("POST", f"{ENVIRONMENTS}/freeze", send=body)
    assert answer.code == 400
    assert calls() == []


async def test_a_draft_that_cannot_be_frozen_says_why(ask: Any) -> None:
    answer = await ask("POST", f"{ENVIRONMENTS}/freeze", send={"name": "users/alice/refused"})
    assert "there is none" in said(answer)["detail"]
