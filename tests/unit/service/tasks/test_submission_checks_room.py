"""Whether a task would fit on the empty cluster (U2, Q5)."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.node import Node
from hai_scheduler.service.shared.errors import Invalid, QuotaExceeded, Unavailable
from hai_scheduler.service.tasks.submission_checks import gpus_to_ask_for
from kit.builders import a_node, some_nodes

ALIKE = some_nodes(3)
MIXED = (a_node("small", gpus=4), *some_nodes(2))
CPUS = (*some_nodes(2, gpus=0), a_node("other", group="other"))
SINGLES = (*some_nodes(2, gpus=1), a_node("other", group="other"))


@pytest.mark.parametrize(
    ("nodes", "count", "gpus", "takes"),
    [
        (ALIKE, 3, None, None),
        (ALIKE, 1, 8, None),
        (ALIKE, 1, 7, 7),
        (ALIKE, 3, 1, 1),
        (MIXED, 2, 8, 8),
        (MIXED, 3, 4, 4),
        (MIXED, 3, None, None),
        (CPUS, 2, None, None),
    ],
    ids=[
        "whole nodes",
        "all GPUs of nodes that are alike are whole nodes",
        "a part",
        "a part of each",
        "all GPUs of the larger ones are no whole nodes",
        "as many as the smallest has",
        "whole nodes of any size",
        "nodes without GPUs",
    ],
)
def test_u2_what_a_task_takes_of_each_node(
    nodes: tuple[Node, ...], count: int, gpus: int | None, takes: int | None
) -> None:
    assert gpus_to_ask_for(nodes, "training", count, gpus) == takes


@pytest.mark.parametrize(
    ("nodes", "count", "gpus", "said"),
    [
        (ALIKE, 4, None, "nodes: 4 nodes will never be free together, for group 'training' has 3: ask for 3 or fewer."),
        (MIXED, 3, 5, "for group 'training' has 2 nodes with as many GPUs: ask for 2 or fewer."),
        (ALIKE, 4, 2, "has 3 nodes with as many GPUs: ask for 3 or fewer."),
    ],
)
def test_q5_more_nodes_than_there_are_say_how_many_there_are(
    nodes: tuple[Node, ...], count: int, gpus: int | None, said: str
) -> None:
    with pytest.raises(QuotaExceeded) as refused:
        gpus_to_ask_for(nodes, "training", count, gpus)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("nodes", "gpus", "said"),
    [
        (ALIKE, 9, "9 is more than any node of group 'training' has: ask for 8 or fewer of each node"),
        (SINGLES, 2, "no node of group 'training' has more than 1 GPU: leave it out, and ask for more nodes"),
        (ALIKE, 0, "0 is too few: ask for at least 1 GPU of each node, or leave it out"),
        (ALIKE, -1, "-1 is too few"),
        (CPUS, 1, "the nodes of group 'training' have no GPUs: leave it out and take whole nodes"),
        (CPUS, 0, "0 is too few"),
    ],
)
def test_a_number_of_gpus_that_no_node_has_is_refused(nodes: tuple[Node, ...], gpus: int, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        gpus_to_ask_for(nodes, "training", 1, gpus)
    assert (refused.value.field, refused.value.value) == ("gpus", gpus)
    assert said in refused.value.message


def test_a_group_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(Invalid) as refused:
        gpus_to_ask_for(CPUS, "trainig", 1, None)
    assert (refused.value.field, refused.value.value) == ("group", "trainig")
    assert "training" in refused.value.message


def test_before_any_node_is_seen_nothing_is_known_to_be_too_much() -> None:
    with pytest.raises(Unavailable, match="has not seen the nodes yet"):
        gpus_to_ask_for((), "training", 1, None)
