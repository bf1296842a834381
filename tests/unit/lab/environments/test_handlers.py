"""The server's part of the *Environments* view: what it passes to haienv, and what the browser gets."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hai_lab.environments import builds, places, program
from hai_lab.environments.actions import EnvironmentAction, action_of, reference
from hai_lab.problem import Problem
from kit.waiting import until

#: Stands for the command: it notes its arguments, and does what the environment's name says.
HAIENV = """
import json, os, sys, time
from pathlib import Path
here = Path(sys.argv[0]).parent
with (here / "calls").open("a") as file:
    file.write(json.dumps([sys.argv[1:], os.environ.get("JUPYTERHUB_API_TOKEN")]) + "\\n")
verb, name = sys.argv[1], (sys.argv + [""])[2]
if verb == "list":
    print(json.dumps({"items": [{"name": "users/alice/vision", "trouble": ""}]}))
elif name.endswith("refused"):
    print("haienv: environment: there is none", file=sys.stderr)
    sys.exit(1)
elif verb in ("show", "diff"):
    print(json.dumps({"verb": verb}))
elif name.endswith("slow"):
    print("haienv: resolving", file=sys.stderr)
    print("installing")
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        print("haienv: interrupted; nothing has changed")
        sys.exit(130)
elif name.endswith("loud"):
    for number in range(12000):
        print(f"line {number}")
    print("x" * 10000)
else:
    print("haienv: resolving", file=sys.stderr)
    print("made \\u00e9")
"""
ENVIRONMENTS = "hai-lab/environments"


@pytest.fixture(autouse=True)
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What haienv was called with."""
    script = tmp_path / "fake" / "haienv.py"
    script.parent.mkdir()
    script.write_text(HAIENV)
    monkeypatch.setattr(program, "command", lambda: [sys.executable, "-P", str(script)])

    def read() -> list[Any]:
        path = script.with_name("calls")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    return read


@pytest.fixture
async def ended(lab: Any) -> AsyncIterator[None]:
    """No command outlives its test."""
    yield
    found: builds.Builds = lab.web_app.settings["hai_lab_builds"]
    found.close()
    await until("the commands to end", lambda: not found.running)


async def begin(lab: Any, **body: Any) -> Any:
    return await lab.ask("POST", f"{ENVIRONMENTS}/builds", json=body)


async def log_of(lab: Any, number: int, **options: Any) -> list[tuple[str, Any]]:
    """The events of a build's log."""
    response = await lab.ask("GET", f"{ENVIRONMENTS}/builds/{number}/log", **options)
    assert response.headers["Content-Type"] == "text/event-stream"
    return events(response.text)


def events(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "event" in lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


async def test_environments_are_listed_with_whose_may_be_changed(lab, calls) -> None:
    found = (await lab.ask("GET", ENVIRONMENTS)).json()
    assert found["items"] == [{"name": "users/alice/vision", "trouble": ""}]
    assert found["builds"] == []
    assert found["owners"][0].startswith("users/")
    assert calls() == [[["list", "--json"], None]], "the server's token is not handed on"


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
    ("body", "words"),
    [
        (
            {"verb": "create", "name": "users/ann/vision", "extend": "base/torch@3", "python": "3.11", "kernel": False,
             "requirements": ["timm==1.0.20 ", "numpy >=2"]},
            ["create", "users/ann/vision", "--extend=base/torch@3", "--python=3.11", "--no-kernel", "timm==1.0.20",
             "numpy >=2"],
        ),
        ({"verb": "create", "name": "base/bare", "extend": None}, ["create", "base/bare"]),
        ({"verb": "install", "name": "base/a", "requirements": ["x"]}, ["install", "base/a", "x"]),
        ({"verb": "uninstall", "name": "base/a", "packages": ["x"]}, ["uninstall", "base/a", "x"]),
        ({"verb": "rollback", "name": "base/a", "generation": 2}, ["rollback", "base/a@2"]),
        ({"verb": "rollback", "name": "base/a"}, ["rollback", "base/a"]),
        ({"verb": "share", "name": "users/a/b", "group": "cv"}, ["share", "users/a/b", "--group=cv"]),
        ({"verb": "unshare", "name": "users/a/b", "all": True}, ["unshare", "users/a/b", "--all"]),
        ({"verb": "remove", "name": "groups/cv/x"}, ["remove", "groups/cv/x"]),
    ],
    ids=lambda value: value["verb"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_an_action_becomes_a_list_of_arguments(body: Any, words: list[str]) -> None:
    assert action_of(body) == EnvironmentAction(body["verb"], body["name"], tuple(words))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "JSON object"),
        ({}, "verb is None"),
        ({"verb": "run", "name": "base/x"}, "verb is 'run'"),
        ({"verb": ["create"]}, "verb is"),
        ({"verb": "remove", "name": "x"}, "name is 'x'"),
        ({"verb": "remove", "name": "base/x", "force": True}, "force is True"),
        ({"verb": "create", "name": "base/x", "extend": "-x"}, "extend is"),
        ({"verb": "create", "name": "base/x", "python": "/bin/sh"}, "python is"),
        ({"verb": "create", "name": "base/x", "kernel": "no"}, "kernel is"),
        ({"verb": "create", "name": "base/x", "requirements": "numpy"}, "requirements: give a list"),
        ({"verb": "install", "name": "base/x", "requirements": []}, "none is given"),
        ({"verb": "install", "name": "base/x", "requirements": ["--pre"]}, "requirements is"),
        ({"verb": "install", "name": "base/x", "requirements": [" -e ."]}, "requirements is"),
        ({"verb": "install", "name": "base/x", "requirements": ["a\nb"]}, "requirements is"),
        ({"verb": "install", "name": "base/x", "requirements": ["a" * 1001]}, "1000 characters"),
        ({"verb": "install", "name": "base/x", "requirements": ["a"] * 501}, "at most 500"),
        ({"verb": "uninstall", "name": "base/x", "packages": [1]}, "packages is 1"),
        ({"verb": "rollback", "name": "base/x", "generation": True}, "generation is True"),
        ({"verb": "rollback", "name": "base/x", "generation": 0}, "generation is 0"),
        ({"verb": "share", "name": "base/x"}, "give one of them"),
        ({"verb": "share", "name": "base/x", "group": "cv", "all": True}, "give one of them"),
        ({"verb": "share", "name": "base/x", "group": "--all"}, "group is"),
        ({"verb": "share", "name": "base/x", "all": "yes"}, "all is"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_by_field_and_value(body: Any, said: str) -> None:
    with pytest.raises(Problem) as refused:
        action_of(body)
    assert said in refused.value.detail
    assert refused.value.status == 400


def test_a_reference_names_its_field() -> None:
    assert reference("before", "users/ann/vision@3") == "users/ann/vision@3"
    with pytest.raises(Problem) as refused:
        reference("before", None)
    assert "before is None" in refused.value.detail


async def test_a_build_is_followed_up_to_its_end_and_again(lab, ended) -> None:
    made = await begin(lab, verb="install", name="users/alice/vision", requirements=["timm"])
    assert (made.status_code, made.json()["state"]) == (202, "running")
    number = made.json()["id"]
    found = await log_of(lab, number)
    assert [data.get("text") for event, data in found if event == "line"] == ["resolving", "made \u00e9"]
    assert (found[-1][0], found[-1][1]["state"], found[-1][1]["last"]) == ("end", "done", "made \u00e9")
    again = await log_of(lab, number, headers={"Last-Event-ID": "1"})
    assert [data.get("text") for event, data in again if event == "line"] == ["made \u00e9"]
    assert "hai_environments_last_activity" in lab.web_app.settings, "a server that builds is not idle"


async def test_the_log_comes_while_the_build_runs_and_a_stopped_build_says_so(lab, ended) -> None:
    number = (await begin(lab, verb="create", name="users/alice/slow")).json()["id"]
    path = f"{lab.url}{ENVIRONMENTS}/builds/{number}"
    text = ""
    headers = {"Authorization": "token lab-token-19c2"}
    async with lab.browser.stream("GET", f"{path}/log", headers=headers) as response:
        async for piece in response.aiter_text():
            text += piece
            if "installing" in text and "event: end" not in text:
                stopped = await lab.ask("POST", f"{ENVIRONMENTS}/builds/{number}/stop")
                assert stopped.status_code == 200
    found = events(text)
    assert found[-1] == ("end", found[-1][1])
    assert (found[-1][1]["state"], found[-1][1]["status"]) == ("stopped", 130)
    assert found[-2][1]["text"] == "interrupted; nothing has changed"


async def test_a_line_that_comes_before_a_reader_really_waits_is_not_missed() -> None:
    nothing: Any = None
    build = builds.Build(1, EnvironmentAction("remove", "base/x", ()), nothing)
    waiting = asyncio.ensure_future(build.wait())
    build.add("one")
    await asyncio.wait_for(waiting, 5)


async def test_one_build_at_a_time_for_an_environment_and_a_few_at_once(lab, calls, ended) -> None:
    first = await asyncio.gather(*(begin(lab, verb="create", name="users/alice/slow") for _ in range(3)))
    assert sorted(answer.status_code for answer in first) == [202, 409, 409]
    assert "users/alice/slow is being changed already" in max(first, key=lambda one: one.status_code).json()["detail"]
    for number in range(builds.AT_ONCE - 1):
        assert (await begin(lab, verb="create", name=f"users/alice/{number}-slow")).status_code == 202
    refused = await begin(lab, verb="install", name="users/alice/other", requirements=["x"])
    assert refused.status_code == 409
    assert "4 builds run" in refused.json()["detail"]
    assert len(lab.web_app.settings["hai_lab_builds"].running) == builds.AT_ONCE


async def test_a_log_is_bounded_and_ended_builds_are_forgotten(lab, ended) -> None:
    number = (await begin(lab, verb="create", name="users/alice/loud")).json()["id"]
    found = await log_of(lab, number)
    late = await log_of(lab, number)
    assert late == found[-len(late) :], "the last lines, and the end"
    assert len(late) == builds.MOST_LINES + 1
    assert max(len(data.get("text", "")) for _, data in found) == builds.LONGEST_LINE
    kept = lab.web_app.settings["hai_lab_builds"]
    assert len(kept.get(number).lines) == builds.MOST_LINES
    for _ in range(builds.KEPT + 1):
        last = (await begin(lab, verb="remove", name="users/alice/x")).json()["id"]
        await log_of(lab, last)
    assert (await lab.ask("GET", f"{ENVIRONMENTS}/builds/{number}/log")).status_code == 404
    assert len(kept.documents()) <= builds.KEPT + 1


async def test_a_failed_build_has_its_status(lab, ended) -> None:
    number = (await begin(lab, verb="install", name="users/alice/refused", requirements=["x"])).json()["id"]
    found = await log_of(lab, number)
    assert [data.get("text") for _, data in found[:-1]] == ["environment: there is none"]
    assert (found[-1][1]["state"], found[-1][1]["status"]) == ("failed", 1)


@pytest.mark.parametrize(
    ("verb", "path"),
    [("GET", ""), ("GET", "/show"), ("GET", "/diff"), ("GET", "/watch"), ("GET", "/builds/1/log"), ("POST", "/builds"),
     ("POST", "/builds/1/stop")],
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


def test_what_may_be_changed_is_asked_of_the_file_system(tmp_path: Path) -> None:
    (tmp_path / "groups/cv").mkdir(parents=True)
    environ = {"HAIENV_ROOT": str(tmp_path), "HAIENV_USER": "ann", "HAIENV_GROUPS": "cv,a b"}
    assert places.owners(environ) == ["users/ann", "groups/cv", "base"]
    assert places.owners({"JUPYTERHUB_USER": "ann"}) == ["users/ann"]
    assert places.owners({"JUPYTERHUB_USER": "a@b"}) == []
    assert places.state({"HAIENV_ROOT": "", "JUPYTER_PATH": f"{tmp_path}/base/.jupyter"}) == ()
