"""The server's part of the *Environments* view: what it passes to haienv, and what the browser gets."""

from __future__ import annotations

from typing import Any

import pytest

from unit.lab.environments.environments_kit import ENVIRONMENTS, events

pytestmark = pytest.mark.usefixtures("calls")


async def test_environments_are_listed_with_whose_may_be_changed(lab, calls) -> None:
    found = (await lab.ask("GET", ENVIRONMENTS)).json()
    assert found["items"] == [{"name": "users/alice/vision", "trouble": ""}]
    assert found["builds"] == []
    assert found["owners"][0].startswith("users/")
    assert calls() == [[["list", "--offer", "--json"], None]], "the server's token is not handed on"


async def test_two_generations_are_compared_and_one_is_shown(lab, calls) -> None:
    shown = await lab.ask("GET", f"{ENVIRONMENTS}/show", params={"name": "base/torch@2"})
    assert shown.json() == {"verb": "show"}
    await lab.ask("GET", f"{ENVIRONMENTS}/diff", params={"before": "base/torch@2", "after": "base/torch@3"})
    words = [["show", "base/torch@2", "--json"], ["diff", "base/torch@2", "base/torch@3", "--json"]]
    assert [call[0] for call in calls()] == words
    refused = await lab.ask("GET", f"{ENVIRONMENTS}/show", params={"name": "base/refused"})
    assert (refused.status_code, refused.json()["detail"]) == (400, "environment: there is none")


@pytest.mark.parametrize("name", ["", "--help", "vision", "base/../x", "users/ann/vision@0", "base/x y"])
async def test_no_name_can_become_an_option(lab, calls, name) -> None:
    response = await lab.ask("GET", f"{ENVIRONMENTS}/show", params={"name": name})
    assert response.status_code == 400
    assert "name is" in response.json()["detail"]
    assert calls() == []


@pytest.mark.parametrize(
    ("verb", "path"),
    [("GET", ""), ("GET", "/show"), ("GET", "/diff"), ("GET", "/watch"), ("GET", "/builds/1/log"), ("POST", "/builds"),
     ("POST", "/builds/1/stop"), ("POST", "/freeze")],
)  # fmt: skip
async def test_nobody_else_is_answered(lab, calls, verb, path) -> None:
    assert (await lab.browser.request(verb, f"{lab.url}{ENVIRONMENTS}{path}")).status_code == 403
    assert calls() == []


async def test_a_cookie_alone_changes_nothing_without_the_xsrf_token(lab, calls) -> None:
    await lab.browser.get(f"{lab.url}lab?token=lab-token-19c2")
    body = {"verb": "remove", "name": "users/alice/vision"}
    refused = await lab.browser.post(f"{lab.url}{ENVIRONMENTS}/builds", json=body)
    assert refused.status_code == 403
    assert calls() == []


async def test_without_haienv_the_remedy_is_said(lab, monkeypatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    response = await lab.ask("GET", ENVIRONMENTS)
    assert response.status_code == 503
    assert "hai-env[build]" in response.json()["detail"]


async def test_a_publication_is_noticed_within_a_second(lab, tmp_path, monkeypatch) -> None:
    root = tmp_path / "envs"
    env = root / "users/alice/vision"
    env.mkdir(parents=True)
    monkeypatch.setenv("HAIENV_ROOT", str(root))
    monkeypatch.setenv("JUPYTER_PATH", f"{root}/users/alice/.jupyter:{root}/base/.jupyter:/other")
    text = ""
    headers = {"Authorization": "token lab-token-19c2"}
    async with lab.browser.stream("GET", f"{lab.url}{ENVIRONMENTS}/watch", headers=headers) as response:
        async for piece in response.aiter_text():
            text += piece
            if len(events(text)) == 1:
                (env / "current").symlink_to("generations/1")
            elif len(events(text)) == 2:
                break
    assert [data["environments"] for _, data in events(text)] == [0, 1]


async def test_what_others_share_is_looked_for_and_its_publications_are_seen(lab, calls, tmp_path, monkeypatch) -> None:
    root = tmp_path / "envs"
    theirs = root / "users/bob/vision"
    theirs.mkdir(parents=True)
    (theirs / "current").symlink_to("generations/1")
    own = root / "users/alice/.jupyter/kernels"
    own.mkdir(parents=True)
    monkeypatch.setenv("HAIENV_ROOT", str(root))
    monkeypatch.setenv("JUPYTER_PATH", f"{root}/users/alice/.jupyter")
    text, headers = "", {"Authorization": "token lab-token-19c2"}
    async with lab.browser.stream("GET", f"{lab.url}{ENVIRONMENTS}/watch", headers=headers) as response:
        async for piece in response.aiter_text():
            text += piece
            if len(events(text)) == 1:
                (own / "haienv-users-bob-vision").symlink_to("../../../bob/vision/current/kernel/others")
            elif len(events(text)) == 2:
                (theirs / "current").unlink()
                (theirs / "current").symlink_to("generations/2")
            elif len(events(text)) == 3:
                break
    # After the first generation the link itself may be seen missing for a moment.
    assert [data["environments"] for _, data in events(text)][:2] == [0, 1]
    assert [call[0] for call in calls()] == [["list", "--offer", "--json"]]


async def test_a_draft_is_frozen_before_a_task_is_submitted(lab: Any, calls: Any) -> None:
    answer = await lab.ask("POST", f"{ENVIRONMENTS}/freeze", json={"name": "users/alice/vision"})
    assert answer.status_code == 200
    assert answer.json() == {"changed": True, "generation": 2}
    assert calls()[-1][0] == ["freeze", "users/alice/vision", "--if-draft", "--json"]


@pytest.mark.parametrize("body", [{}, [], {"name": "vision"}, {"name": "users/alice/vision@2"}, {"name": "--look"}])
async def test_a_freeze_takes_a_full_name_only(lab: Any, calls: Any, body: Any) -> None:
    answer = await lab.ask("POST", f"{ENVIRONMENTS}/freeze", json=body)
    assert answer.status_code == 400
    assert calls() == []


async def test_a_draft_that_cannot_be_frozen_says_why(lab: Any) -> None:
    answer = await lab.ask("POST", f"{ENVIRONMENTS}/freeze", json={"name": "users/alice/refused"})
    assert "there is none" in answer.json()["detail"]
