"""Nodes on which ranks have just found no room (F5)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.adapters.kubernetes.crowds import FULL_FOR, Crowds
from kit.builders import T0, a_node

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("known", "beside", "wanted", "room"),
    [
        (None, 0, None, 7),
        (None, 0, 1, 0),
        (None, 2, 3, 4),
        (3, 2, 3, 3),
        (5, 2, 3, 4),
    ],
    ids=["whole", "a share", "beside others", "less was known", "more was known"],
)
def test_f5_a_node_is_as_full_as_it_was_found(known: int | None, beside: int, wanted: int | None, room: int) -> None:
    crowds = Crowds()
    crowds.note("node-1", T0, beside=beside, gpus=wanted)
    assert crowds.seen_on(a_node(room=known), T0).room == room
    assert crowds.seen_on(a_node("node-2"), T0) == a_node("node-2")


def test_f5_a_node_without_gpus_is_full() -> None:
    crowds = Crowds()
    crowds.note("node-1", T0, beside=0, gpus=None)
    assert crowds.seen_on(a_node(gpus=0), T0).room == 0


def test_f5_for_a_while_and_anew_each_time() -> None:
    crowds = Crowds()
    for again in (timedelta(0), FULL_FOR - SECOND):
        crowds.note("node-1", T0 + again, beside=0, gpus=None)
        assert crowds.seen_on(a_node(), T0 + again + FULL_FOR - SECOND).room == 7
    assert crowds.seen_on(a_node(), T0 + FULL_FOR - SECOND + FULL_FOR).room is None
