"""The checks refuse forged stories of a training, each of which is wrong in one way."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from frameworks.cases import SAVED, UNKNOWN, Case
from frameworks.checks import check_resumes, check_word
from frameworks.drive import Line, Outcome, own_lines

TOLD, SAVED_AT, LEFT_AT = 1000.0, 1000.5, 1001.0
CASE = Case(name="x", title="X", steps=6)


def stamp(seconds: float) -> str:
    return f"1970-01-01T00:{int(seconds // 60):02}:{seconds % 60:06.3f}+00:00"


def run(**given: Any) -> dict[str, Any]:
    notice = {"at": stamp(TOLD)}
    ranks = [{"notified_at": stamp(TOLD + 0.1)}]
    usual = {"reason": "preempted", "notice": notice, "ranks": ranks, "ended_at": stamp(LEFT_AT), "lost_s": 0.0}
    return usual | {"left": SAVED} | given


def lines(run_: int, *texts: str) -> tuple[Line, ...]:
    return tuple(Line(run_, SAVED_AT, False, text) for text in texts)


FIRST = ("step 1", "step 2", "step 3", "saved step 3 in 0.100 s")
SECOND = ("resumed at step 3", "step 4", "step 5", "step 6", f"finished step 6 weight {6 / 1024}")


def story(
    first: tuple[str, ...] = FIRST, second: tuple[str, ...] = SECOND, newest: float | None = SAVED_AT, **given: Any
) -> Outcome:
    return Outcome(
        task={"runs": [run(**given), run(reason=None)]},
        decisions="",
        lines=lines(1, *first) + lines(2, *second),
        newest=newest,
        indexed=None,
        gone=LEFT_AT - 0.1,
    )


def test_a_story_as_it_should_be_passes_and_is_measured() -> None:
    seen = story()
    check_resumes(CASE, seen)
    check_word(CASE, seen)
    assert (seen.leave_s, seen.job_s, seen.saving_s()) == (1.0, 0.5, 0.1)
    assert seen.platform_s == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("caught", "signal", "own"),
    [(True, None, 0.4), (True, 9, 0.0), (False, 15, 0.0), (False, None, 0.0), (None, None, 0.0)],
)
def test_the_end_of_a_job_is_its_own_where_it_has_caught_the_signal_and_nobody_has_ended_it(
    caught: bool | None, signal: int | None, own: float
) -> None:
    told = {"notified_at": stamp(TOLD), "caught": True, "signal": None}
    seen = story(ranks=[told, {**told, "caught": caught, "signal": signal}])
    assert seen.own_end_s == pytest.approx(own)
    assert seen.rest_s == pytest.approx(1.0 - 0.5 - own)
    assert dataclasses.replace(seen, gone=None).own_end_s == 0.0


def test_a_checkpoint_with_an_index_is_whole_once_that_is_written() -> None:
    assert dataclasses.replace(story(), indexed=SAVED_AT + 0.25).job_s == 0.75
    assert dataclasses.replace(story(), indexed=SAVED_AT - 100).job_s == 0.5


WRONG = {
    "a step left out": story(second=(SECOND[0], *SECOND[2:])),
    "a step done twice": story(second=(SECOND[0], "step 3", *SECOND[1:])),
    "resumed before the last checkpoint": story(second=("resumed at step 2", *SECOND[1:])),
    "begun again": story(second=SECOND[1:]),
    "nothing saved": story(first=FIRST[:3]),
    "another weight": story(second=(*SECOND[:4], f"finished step 6 weight {5 / 1024}")),
    "no end": story(second=SECOND[:4]),
    "ended for another reason": story(reason="failed"),
    "a rank was not told": story(ranks=[{"notified_at": None}]),
}


@pytest.mark.parametrize("seen", WRONG.values(), ids=WRONG.keys())
def test_a_training_that_was_not_resumed_as_it_should_is_refused(seen: Outcome) -> None:
    with pytest.raises(AssertionError):
        check_resumes(CASE, seen)


def test_processes_that_trained_apart_are_refused() -> None:
    together = dataclasses.replace(CASE, world=2)
    check_resumes(together, story(first=("world of 2", *FIRST)))
    for first in (("world of 1", *FIRST), FIRST):
        with pytest.raises(AssertionError):
            check_resumes(together, story(first=first))


def test_a_stage_that_begins_after_the_notice_and_does_anything_is_refused() -> None:
    staged = dataclasses.replace(CASE, stage_steps=2)
    check_resumes(staged, story())
    check_resumes(staged, story(first=(*FIRST, "stage 3 begins")))
    with pytest.raises(AssertionError, match="no stage that begins"):
        check_resumes(staged, story(first=("stage 2 begins", *FIRST)))


def test_a_stage_that_had_not_begun_does_not_say_that_it_is_resumed() -> None:
    begins_anew = story(second=SECOND[1:])
    check_resumes(dataclasses.replace(CASE, stage_steps=3), begins_anew)
    with pytest.raises(AssertionError):
        check_resumes(dataclasses.replace(CASE, stage_steps=2), begins_anew)


ANY = dataclasses.replace(CASE, left=frozenset({SAVED, UNKNOWN}))
LIES = {
    "said to be saved, with nothing on the disk": story(newest=None),
    "said to be saved, with an old checkpoint": story(newest=TOLD - 1),
    "said to be unknown, with a new checkpoint": story(left=UNKNOWN, lost_s=1.0),
    "saved, and lost all the same": story(lost_s=3.0),
    "unknown, and nothing lost": story(left=UNKNOWN, newest=None),
}


LIES["said to be saved, when only other files had changed"] = dataclasses.replace(
    story(), lines=tuple(dataclasses.replace(line, at=TOLD - 1) for line in story().lines)
)


@pytest.mark.parametrize("seen", LIES.values(), ids=LIES.keys())
def test_a_word_that_the_disk_does_not_bear_out_is_refused(seen: Outcome) -> None:
    with pytest.raises(AssertionError):
        check_word(ANY, seen)


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("-- run 1 suspended clean at 12:00:00 UTC --", True),
        ("-- run 1 suspended at 12:00:00 UTC: a task needed its nodes; saved at step 3 --", True),
        ("Run 1 has left its nodes, with its work saved.", True),
        ("-- run 1 suspended at 12:00:00 UTC; it was ended before it had saved --", False),
        ("-- run 1 suspended; it left by itself, and nothing shows that it saved when it was told --", False),
        ("-- run 1 suspended without having saved at 12:00:00 UTC --", False),
    ],
)
def test_nothing_may_claim_a_save_without_evidence(text: str, claims: bool) -> None:
    seen = story(left=UNKNOWN, newest=None, lost_s=1.0)
    seen = dataclasses.replace(seen, lines=(*seen.lines, Line(1, LEFT_AT, True, text)))
    if claims:
        with pytest.raises(AssertionError, match="nobody says"):
            check_word(ANY, seen)
    else:
        check_word(ANY, seen)


def test_a_log_that_a_training_writes_itself_is_read_as_two_runs() -> None:
    read = own_lines("submitit INFO: starting\nstep 1\nresumed at step 1\nstep 2\n")
    assert [(line.run, line.text) for line in read][1:] == [(1, "step 1"), (2, "resumed at step 1"), (2, "step 2")]
