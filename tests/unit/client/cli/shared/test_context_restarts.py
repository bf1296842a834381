"""What users at a terminal see of a platform that restarts: next to nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Output
from hai_client.errors import Unavailable

Hai = Callable[..., Any]


def starting(fake: Any) -> Any:
    def act(_call: Any) -> None:
        raise fake.Refuse(503, "restarting", "The platform is starting: try again in a moment.", retry_after=2)

    return act


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the command believe that its stderr is a terminal."""
    of_process = Output.of_process

    def of_terminal() -> Output:
        out = of_process()
        out.watched = True
        return out

    monkeypatch.setattr(Output, "of_process", of_terminal)


@pytest.mark.parametrize(
    "line", ["list", "status digits", "stop digits", "priority digits HIGH", "nodes", "submit -- true", "logs digits"]
)
def test_a_restart_is_waited_for_and_told_in_one_line(
    hai: Hai, platform: Any, fake: Any, line: str, watched: None
) -> None:
    platform.add("digits")
    platform.logs = {41: ["one"], 42: []}
    platform.before = [starting(fake)] * 6
    result = hai(*line.split())
    assert result.code == 0
    assert result.err == "hai: the platform is restarting; trying again for half a minute (Ctrl-C ends this)\n"
    assert result.out


def busy(fake: Any) -> Any:
    def act(_call: Any) -> None:
        raise fake.Refuse(429, "too_many", "One client may send 20 requests a second.", retry_after=3)

    return act


@pytest.mark.parametrize("line", ["list", "stop digits", "submit -- true", "logs -f digits"])
def test_a_user_who_asks_too_much_waits_for_their_turn_and_is_told_so(
    hai: Hai, platform: Any, fake: Any, line: str, watched: None
) -> None:
    platform.add("digits")
    platform.logs = {41: ["one"], 42: []}
    platform.before = [busy(fake)] * 6
    result = hai(*line.split())
    assert result.code == 0
    assert result.err.count("you ask the platform for more than your share") == 1


@pytest.mark.parametrize("line", ["list", "stop digits", "submit -- true", "logs -f digits"])
def test_who_asks_too_much_for_long_is_four_and_not_wrong_input(hai: Hai, platform: Any, fake: Any, line: str) -> None:
    platform.add("digits")
    platform.before = [busy(fake)] * 99
    result = hai(*line.split())
    assert result.code == 4
    assert "One client may send 20 requests a second" in result.err


def test_a_script_is_told_nothing_of_a_wait_that_ended_well(hai: Hai, platform: Any, fake: Any) -> None:
    platform.before = [starting(fake)] * 6
    result = hai("list")
    assert (result.code, result.err) == (0, "")


def test_a_short_wait_needs_no_word(hai: Hai, platform: Any, fake: Any, watched: None) -> None:
    platform.before = [lambda _call: (_ for _ in ()).throw(fake.Drop())] * 2
    result = hai("list")
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("line", ["list", "status digits", "logs -f digits", "submit -f -- true", "stop digits"])
def test_a_platform_that_stays_away_is_four_and_not_wrong_input(hai: Hai, platform: Any, fake: Any, line: str) -> None:
    platform.add("digits")
    platform.before = [starting(fake)] * 99
    result = hai(*line.split())
    assert (result.code, result.out) == (4, "")
    assert result.err == "hai: The platform is starting: try again in a moment.\n"


def test_following_reads_on_over_a_restart_of_everything(
    hai: Hai, platform: Any, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hai_client.sse.DELAYS_S", (0.0,))
    platform.add("digits")
    platform.logs = {41: [f"line {number}" for number in range(5)]}
    platform.cut_streams = [250, 120]
    # The task is asked for, the stream opens and breaks, and then the platform is away for a while.
    platform.before = [lambda _call: None] * 2 + [starting(fake)] * 5
    result = hai("logs", "-f", "digits")
    assert result.code == 0
    assert result.out.splitlines() == platform.logs[41]


def test_a_submission_that_is_followed_outlasts_a_restart_between_the_two(
    hai: Hai, platform: Any, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hai_client.sse.DELAYS_S", (0.0,))
    platform.logs = {41: ["one", "two"]}

    def restart(_call: Any) -> None:
        platform.before = [starting(fake)] * 5

    platform.after = [restart]
    result = hai("--json", "submit", "-f", "--", "true")
    assert result.code == 0
    assert json.loads(result.out)["state"] == "succeeded"
    assert len(platform.tasks) == 1


def test_ctrl_c_ends_the_wait(hai: Hai, platform: Any, fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Context, "waiting", interrupt)
    platform.before = [starting(fake)] * 99
    assert hai("list").code == 130


def test_an_unreachable_address_is_named_while_it_is_tried() -> None:
    words = io.StringIO()
    context = Context(Output(io.StringIO(), words, watched=True))
    problem = Unavailable("cannot reach http://h: connection refused; is the platform up, and HAI_URL or --url right?")
    for waited in (0.0, 0.2, 1.7, 3.7):
        context.waiting(problem, waited)
    assert words.getvalue() == (
        "hai: cannot reach http://h: connection refused; trying again for half a minute (Ctrl-C ends this)\n"
    )
