"""Which lost ranks of a machine are their own tasks' doing (H4): the judgement of the local cluster."""

from __future__ import annotations

from hai_scheduler.adapters.local.losses import Losses
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.observation import Observation, RankObservation
from hai_scheduler.core.model.run import RankState


def run(number: int, user: str | None, *states: str) -> Observation:
    """A run whose ranks are `up`, `killed` (seen alive before) or `lost` (not seen alive by this service)."""
    ranks = tuple(
        RankObservation(
            rank=rank,
            state=RankState.RUNNING if state == "up" else RankState.LOST,
            supervisor_killed=state == "killed",
        )
        for rank, state in enumerate(states)
    )
    return Observation(run_id=RunId(f"{number}.1"), ranks=ranks, user=user)


def own(losses: Losses, now: float, *runs: Observation) -> list[list[bool]]:
    return [[rank.supervisor_killed for rank in seen.ranks] for seen in losses.judge(runs, now)]


def test_h4_one_users_ranks_are_his_own_doing_in_every_later_look() -> None:
    losses = Losses()
    assert own(losses, 1, run(1, "mallory", "up", "up"), run(2, "bob", "up")) == [[False, False], [False]]
    for now in (2, 500):
        assert own(losses, now, run(1, "mallory", "killed", "killed"), run(2, "bob", "up")) == [[True, True], [False]]


def test_h4_what_several_users_lose_at_once_never_becomes_a_tasks_doing() -> None:
    losses = Losses()
    both = run(1, "mallory", "killed"), run(2, "bob", "killed")
    for now in (1, 500):
        assert own(losses, now, *both) == [[False], [False]]


def test_h4_a_loss_shortly_after_another_users_is_nobodys_doing() -> None:
    losses = Losses()
    assert own(losses, 1, run(1, "mallory", "killed"), run(2, "bob", "up")) == [[True], [False]]
    assert own(losses, 3, run(1, "mallory", "killed"), run(2, "bob", "killed")) == [[True], [False]]
    assert own(losses, 60, run(2, "bob", "killed"), run(3, "mallory", "killed")) == [[False], [True]]


def test_h4_what_a_service_finds_lost_when_it_starts_is_nobodys_doing_and_excuses_others() -> None:
    losses = Losses()
    assert own(losses, 1, run(1, "mallory", "lost"), run(2, "bob", "killed")) == [[False], [False]]


def test_runs_that_are_forgotten_are_forgotten_here_too() -> None:
    losses = Losses()
    own(losses, 1, run(1, "mallory", "killed"))
    assert own(losses, 100) == []
    assert losses._own == {}
