"""The rank that failed first, and the logs of all ranks, on a screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Hai = Callable[..., Any]


@pytest.fixture(autouse=True)
def a_task(platform: Any) -> None:
    platform.add("digits")
    platform.logs = {41: ["a", "b", "[hai] run 2 starts"]}


@pytest.mark.parametrize("words", [("-r", "all"), ("-r", "ALL", "--tail", "9"), ("-f", "--rank", "all")])
def test_all_ranks_are_shown_each_line_with_its_rank(hai: Hai, platform: Any, words: tuple[str, ...]) -> None:
    platform.tasks[41].update(state="failed", verdict=None)
    out = hai("logs", *words, "digits").out
    assert out == "0: a\n1: a\n0: b\n1: b\n[hai] run 2 starts\n"
    assert {call.query["rank"] for call in platform.calls if call.path.endswith("/logs")} == {"0", "1"}


def test_a_rank_that_is_none_is_refused(hai: Hai) -> None:
    result = hai("logs", "-r", "first", "digits")
    message = "hai: rank: 'first' is neither the number of a rank, from 0 on, nor `all`; "
    assert (result.code, result.err.startswith(message)) == (2, True)
    assert "write for example -r 1, or -r all" in result.err


FAILURE = {
    "run": 1, "rank": 1, "node": "node-2", "exit_code": 127, "signal": None, "at": None, "worker": None,
    "lines": ["Traceback (most recent call last):", "ValueError: no data"],
}  # fmt: skip
FIRST = "rank 1 on node-2 failed first, with status 127; its last lines (`hai logs -r 1 torn` shows all):"
LINES = ["Traceback (most recent call last):", "ValueError: no data"]


def torn(platform: Any, fake: Any, **changes: Any) -> None:
    runs = [fake.run_of(1, reason="failed", left=None, failed_ranks=[1])]
    about = {"state": "failed", "verdict": None, "runs": runs, "run_count": 1}
    platform.logs[platform.add("torn", **about, failure={**FAILURE, **changes})["id"]] = ["of rank 0"]


def test_status_ends_with_the_rank_that_failed_first_and_its_last_lines(hai: Hai, platform: Any, fake: Any) -> None:
    torn(platform, fake)
    assert hai("status", "torn").out.splitlines()[-3:] == [FIRST, *(f"  {line}" for line in LINES)]
    assert "failed first" not in hai("status", "digits").out


@pytest.mark.parametrize("words", [(), ("-f",), ("--tail", "1"), ("-f", "--tail", "1"), ("--run", "1")])
def test_a_log_ends_with_the_rank_that_failed_first(hai: Hai, platform: Any, fake: Any, words: tuple[str, ...]) -> None:
    torn(platform, fake)
    platform.outcome = "failed"
    assert hai("logs", *words, "torn").out.splitlines() == ["of rank 0", f"[hai] {FIRST}", *LINES]


@pytest.mark.parametrize("words", [("-r", "0"), ("-f", "-r", "0"), ("--run", "2"), ("--json",), ("-f", "--json")])
def test_who_asks_for_something_else_gets_just_that(hai: Hai, platform: Any, fake: Any, words: tuple[str, ...]) -> None:
    torn(platform, fake)
    assert "failed first" not in hai("logs", *words, "torn").out


def test_what_rank_0_has_just_said_is_not_said_again(hai: Hai, platform: Any, fake: Any) -> None:
    torn(platform, fake, rank=0)
    assert hai("logs", "torn").out == "of rank 0\n"
    assert "failed first, with status 127" in hai("status", "torn").out


def test_the_worker_that_torchrun_names_is_shown_of_rank_0_as_well(hai: Hai, platform: Any, fake: Any) -> None:
    torn(platform, fake, rank=0, signal=9, exit_code=137, lines=[], worker="rank 3 (local_rank: 1), exitcode 1")
    said = "rank 0 on node-2 failed first, of SIGKILL; torchrun names rank 3 (local_rank: 1), exitcode 1; there is"
    assert f"[hai] {said} no line of it" in hai("logs", "torn").out
