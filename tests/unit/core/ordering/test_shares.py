"""What a user has had of a node group, and is entitled to (O3)."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.ordering.shares import UserShare, user_share
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.what_if import share_sentence
from kit.builders import a_node, a_run, a_task, a_use, at


def snapshot(*tasks: object, uses: object = ()) -> Snapshot:
    nodes = tuple(a_node(f"node-{n}") for n in (1, 2, 3, 4))
    return Snapshot(now=at(hours=1), nodes=nodes, tasks=tasks, uses=uses)  # type: ignore[arg-type]


def had(user: str, node_seconds: float) -> object:
    return a_use(user, node_seconds=node_seconds, at=at(hours=1))


MINE = a_task(1, user="ann")


def test_what_was_had_is_compared_with_what_the_weights_give() -> None:
    others = [a_task(2, user="bob"), a_task(3, user="carl"), a_task(4, user="bob")]
    uses = (had("ann", 600.0), had("bob", 300.0), had("carl", 100.0), had("gone", 5000.0))
    policy = Policy(weights={"ann": 2.0})
    share = user_share(snapshot(MINE, *others, uses=uses), policy, MINE)
    assert share.given == pytest.approx(0.6), "who has no task here does not count"
    assert (share.weight, share.weights, share.entitled) == (2.0, 4.0, 0.5)
    assert share.users_before == 1, "bob has had as much for his weight: the order is that of submissions then"
    assert share_sentence(ENGLISH, share) == (
        "ann has had 60 % of the recent use of node group training and is entitled to 50 % (weight 2 of 4); "
        "1 other user has had less for their weight, and of tasks of equal priority and level theirs go first."
    )


def test_what_runs_counts_up_to_now() -> None:
    runs = a_task(2, user="bob", nodes=2, state="running", run=a_run(2, nodes=2, started_at=at()))
    share = user_share(snapshot(MINE, runs), Policy(), MINE)
    assert (share.given, share.users_before) == (0.0, 0)
    mine = user_share(snapshot(MINE, runs), Policy(), runs)
    assert mine.given == 1.0


def test_a_held_task_does_not_compete() -> None:
    held = a_task(2, user="bob", held=True)
    share = user_share(snapshot(MINE, held, uses=(had("bob", 500.0), had("ann", 500.0))), Policy(), MINE)
    assert (share.given, share.weights) == (1.0, 1.0)


def test_a_group_that_nobody_has_used_lately_has_no_shares() -> None:
    share = user_share(snapshot(MINE, a_task(2, user="bob")), Policy(), MINE)
    assert (share.given, share.users_before) == (None, 0)
    assert share_sentence(ENGLISH, share).startswith("No user with tasks in node group training has used it lately")


@pytest.mark.parametrize(
    ("given", "before", "words"),
    [
        (0.004, 0, "ann has had 0.4 % of"),
        (0.5, 0, "no other user with tasks there has had less"),
        (0.5, 3, "; 3 other users have had less"),
    ],
)
def test_the_sentence_says_who_goes_first(given: float, before: int, words: str) -> None:
    share = UserShare(user="ann", node_group="training", given=given, weight=1.0, weights=2.0, users_before=before)
    assert words in share_sentence(ENGLISH, share)
