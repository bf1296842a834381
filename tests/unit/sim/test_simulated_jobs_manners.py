"""Jobs that catch a signal, that poll, and that do neither: what the profile `auto` makes of each."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.sim.scenario import Manner, SimulatedJob
from unit.sim.jobs_kit import a_job, run, runs_of, seconds, turns


def interrupted(manner: Manner, *, profile: Profile = Profile.AUTO, **behaviour: object) -> list[SimulatedJob]:
    """A long job, and an urgent one of 50 s that comes at 100 s."""
    long = replace(a_job(1, 4000, profile=profile, **behaviour), manner=manner)
    return [long, a_job(2, 50, submitted=100, priority=Priority.HIGH)]


@pytest.mark.parametrize("manner", [Manner.CATCHES, Manner.POLLS])
def test_who_knows_of_the_notice_saves_and_leaves(manner: Manner) -> None:
    outcome = run(interrupted(manner, saves_in=20))
    assert turns(outcome, 1) == [(0, 120), (170, 170 + 3900)]
    assert seconds(runs_of(outcome.records, 1)[0].kept_until) == 100


def test_who_does_neither_is_let_go_on_for_as_long_as_patience_lasts() -> None:
    outcome = run(interrupted(Manner.NEITHER))
    assert turns(outcome, 2) == [(130, 180)]
    assert turns(outcome, 1) == [(0, 130), (180, 180 + 4000)], "it never saves, so all of it is done again"


def test_a_checkpoint_meanwhile_ends_it_when_that_has_been_there_for_a_moment() -> None:
    """The first save of a turn must be quiet for longer than a later one on the same node."""
    outcome = run(interrupted(Manner.NEITHER, saves_every=110))
    assert turns(outcome, 2) == [(112, 162)]
    assert turns(outcome, 1) == [(0, 112), (162, 162 + 4000 - 110)]
    again = run(interrupted(Manner.NEITHER, saves_every=60), tick=timedelta(seconds=0.1))
    assert turns(again, 1)[0] == (0, 120.3)


def test_of_a_gang_no_save_is_known_to_be_complete_sooner() -> None:
    """On a network file system the supervisor of a node cannot hear what the others write."""
    long = replace(a_job(1, 4000, nodes=2, saves_every=60), manner=Manner.NEITHER)
    urgent = a_job(2, 50, nodes=2, submitted=100, priority=Priority.HIGH)
    assert turns(run([long, urgent], nodes=2), 1)[0] == (0, 122)


@pytest.mark.parametrize(("patience", "leaves"), [(0, 100), (10, 110), (119, 202), (1000, 202)])
def test_patience_is_the_policys_and_no_longer_than_its_grace(patience: int, leaves: int) -> None:
    """It saves at 200 s, two seconds before it is ended, unless patience is over before."""
    policy = Policy(patience=timedelta(seconds=patience))
    outcome = run(interrupted(Manner.NEITHER, saves_every=200), policies=policy)
    assert turns(outcome, 1)[0] == (0, leaves)


def test_patience_ends_with_its_grace() -> None:
    policy = Policy(patience=timedelta(seconds=1000))
    outcome = run(interrupted(Manner.NEITHER), policies=policy)
    assert turns(outcome, 1)[0] == (0, 220)


def test_another_profile_has_none() -> None:
    outcome = run(interrupted(Manner.NEITHER, profile=Profile.SIGTERM, saves_every=60))
    assert turns(outcome, 1)[0] == (0, 100)
    assert seconds(runs_of(outcome.records, 1)[0].kept_until) == 60


def test_a_command_that_comes_to_its_end_meanwhile_has_ended() -> None:
    """The command neither catches the signal nor polls, so it comes to its own end after the notice."""
    outcome = run([replace(a_job(1, 115), manner=Manner.NEITHER), *interrupted(Manner.NEITHER)[1:]])
    assert turns(outcome, 1) == [(0, 115)]
    assert turns(outcome, 2) == [(115, 165)]


def test_p8_one_that_never_saves_is_left_alone_by_equals_after_two_interruptions() -> None:
    minute = timedelta(minutes=1)
    policy = Policy(min_run=minute, slice=minute, slice_growth=1, min_run_per_switch=0)
    careless = replace(a_job(1, 4000), manner=Manner.NEITHER)
    off = replace(policy, max_unsaved=0)
    equal = a_job(2, 1000, submitted=10)
    assert len(turns(run([careless, equal], policies=policy), 1)) == 3
    assert len(turns(run([careless, equal], policies=off), 1)) > 3
