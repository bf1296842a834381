"""The commands that change environments: their output, their end, and how many at once."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from hai_lab.environments import builds, program
from hai_lab.environments.actions import EnvironmentAction
from hai_lab.problem import Problem
from kit.waiting import until
from unit.lab.conftest import said
from unit.lab.environments.environments_kit import ENVIRONMENTS, begin, events, log_of

pytestmark = pytest.mark.usefixtures("calls")


async def test_a_build_is_followed_up_to_its_end_and_again(ask, jp_serverapp, ended) -> None:
    made = await begin(ask, verb="install", name="users/alice/vision", requirements=["timm"])
    assert (made.code, said(made)["state"]) == (202, "running")
    number = said(made)["id"]
    found = await log_of(ask, number)
    assert [data.get("text") for event, data in found if event == "line"] == ["resolving", "made \u00e9"]
    assert (found[-1][0], found[-1][1]["state"], found[-1][1]["last"]) == ("end", "done", "made \u00e9")
    again = await log_of(ask, number, headers={"Last-Event-ID": "1"})
    assert [data.get("text") for event, data in again if event == "line"] == ["made \u00e9"]
    assert "hai_environments_last_activity" in jp_serverapp.web_app.settings, "a server that builds is not idle"


async def test_the_log_comes_while_the_build_runs_and_a_stopped_build_says_so(ask, stream, ended) -> None:
    number = said(await begin(ask, verb="create", name="users/alice/slow"))["id"]
    log = stream(f"{ENVIRONMENTS}/builds/{number}/log")
    assert "event: end" not in await log.until(lambda text: "installing" in text)
    assert (await ask("POST", f"{ENVIRONMENTS}/builds/{number}/stop")).code == 200
    await log.answer
    found = events(await log.until(lambda text: "event: end" in text))
    assert found[-1] == ("end", found[-1][1])
    assert (found[-1][1]["state"], found[-1][1]["status"]) == ("stopped", 130)
    assert found[-2][1]["text"] == "interrupted; nothing has changed"


async def test_a_line_that_comes_before_a_reader_really_waits_is_not_missed() -> None:
    nothing: Any = None
    build = builds.Build(1, EnvironmentAction("remove", "base/x", ()), nothing)
    waiting = asyncio.ensure_future(build.wait())
    build.add("one")
    await asyncio.wait_for(waiting, 5)


async def test_one_build_at_a_time_for_an_environment_and_a_few_at_once(ask, jp_serverapp, calls, ended) -> None:
    first = await asyncio.gather(*(begin(ask, verb="create", name="users/alice/slow") for _ in range(3)))
    assert sorted(answer.code for answer in first) == [202, 409, 409]
    assert "users/alice/slow is being changed already" in said(max(first, key=lambda one: one.code))["detail"]
    for number in range(builds.AT_ONCE - 1):
        assert (await begin(ask, verb="create", name=f"users/alice/{number}-slow")).code == 202
    refused = await begin(ask, verb="install", name="users/alice/other", requirements=["x"])
    assert refused.code == 409
    assert "4 builds run" in said(refused)["detail"]
    assert len(jp_serverapp.web_app.settings["hai_lab_builds"].running) == builds.AT_ONCE


async def test_a_log_is_bounded_and_ended_builds_are_forgotten(ask, jp_serverapp, ended) -> None:
    number = said(await begin(ask, verb="create", name="users/alice/loud"))["id"]
    found = await log_of(ask, number)
    late = await log_of(ask, number)
    assert late == found[-len(late) :], "the last lines, and the end"
    assert len(late) == builds.MOST_LINES + 1
    assert max(len(data.get("text", "")) for _, data in found) == builds.LONGEST_LINE
    kept = jp_serverapp.web_app.settings["hai_lab_builds"]
    assert len(kept.get(number).lines) == builds.MOST_LINES
    for _ in range(builds.KEPT + 1):
        last = said(await begin(ask, verb="remove", name="users/alice/x"))["id"]
        await log_of(ask, last)
    assert (await ask("GET", f"{ENVIRONMENTS}/builds/{number}/log")).code == 404
    assert len(kept.documents()) <= builds.KEPT + 1


async def test_a_failed_build_has_its_status(ask, ended) -> None:
    number = said(await begin(ask, verb="install", name="users/alice/refused", requirements=["x"]))["id"]
    found = await log_of(ask, number)
    assert [data.get("text") for _, data in found[:-1]] == ["environment: there is none"]
    assert (found[-1][1]["state"], found[-1][1]["status"]) == ("failed", 1)


# -- without a Jupyter Server ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "stopped", "state"),
    [
        (None, False, "running"),
        (None, True, "running"),
        (0, False, "done"),
        (0, True, "done"),
        (1, False, "failed"),
        (-9, False, "failed"),
        (130, True, "stopped"),
        (-9, True, "stopped"),
    ],
)
def test_a_build_ends_as_done_stopped_or_failed(status: int | None, stopped: bool, state: str) -> None:
    """One that was done when it was told to stop has changed the environment."""
    nothing: Any = None
    build = builds.Build(1, EnvironmentAction("create", "base/x", ()), nothing, status=status, stopped=stopped)
    assert (build.state, build.document()["state"], build.document()["last"]) == (state, state, "")


async def test_a_build_that_does_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('deaf'); time.sleep(600)"
    monkeypatch.setattr(program, "command", lambda: [sys.executable, "-uc", deaf])
    monkeypatch.setattr(builds, "PATIENCE_S", 0.0)
    alive = 0

    def active() -> None:
        nonlocal alive
        alive += 1

    made = builds.Builds(active)
    build = await made.begin(EnvironmentAction("create", "base/x", ()))
    await until("its first line", lambda: build.count == 1)
    for _ in range(2):
        made.stop(build)
    await until("its end", lambda: build.status is not None)
    assert (build.status, build.state, made.running) == (-signal.SIGKILL, "stopped", [])
    assert alive, "a server that builds is not idle"
    made.stop(build)
    assert build.state == "stopped"


async def test_an_environment_is_free_again_when_its_command_could_not_be_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(program, "command", lambda: [str(tmp_path / "none")])
    made = builds.Builds(lambda: None)
    for _ in range(2):
        with pytest.raises(Problem, match="cannot be started"):
            await made.begin(EnvironmentAction("create", "base/x", ()))
    assert made.documents() == []


def test_a_build_that_is_not_known_is_not_found() -> None:
    with pytest.raises(Problem, match="no build 7") as refused:
        builds.Builds(lambda: None).get(7)
    assert refused.value.status == 404
