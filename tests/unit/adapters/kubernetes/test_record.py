"""The record of a run in its Service, and the run as its Service and its pods show it together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.adapters.kubernetes.names import START_ERROR
from hai_scheduler.adapters.kubernetes.record import Record, RunObjects, StartError, runs_seen
from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.core.model.run import Blame
from kit.builders import T0, a_launch
from unit.adapters.kubernetes.things import a_pod, a_service, a_sight, running, stamp

RUN = RunId("1.1")
GANG = a_launch(nodes=("node-1", "node-2"), user="ann", origin=Origin("a1b2", 2))


def test_things_that_are_not_ours_are_no_runs() -> None:
    other = {"metadata": {"name": "x", "labels": {"hai.jupyter.org/task": "x"}}}
    assert runs_seen([other, {"metadata": {"name": "y"}}], [other], [other]) == {}


def test_runs_are_told_apart() -> None:
    launch = a_launch(2, 3)
    seen = runs_seen([a_service(), a_service(launch)], [a_pod(launch)], [])
    assert {run_id: sorted(run.pods) for run_id, run in seen.items()} == {RunId("1.1"): [], RunId("2.3"): [0]}


# -- why a run could not be started ---------------------------------------------------------------------


@given(st.text(), st.lists(st.integers(0, 1000), max_size=5), st.sampled_from(Blame))
def test_a_start_error_comes_back_as_it_was_written(message: str, ranks: list[int], blame: Blame) -> None:
    error = StartError(message=message, ranks=tuple(ranks), blame=blame)
    found = StartError.from_annotations(error.to_annotation())
    assert found is not None
    assert found.ranks == error.ranks
    assert found.blame is (blame if ranks else Blame.NOBODY)
    assert found.speakers == (error.ranks or (0,))
    assert found.message


def test_a_long_message_is_cut_so_that_annotations_have_room() -> None:
    (text,) = StartError(message="x" * 300_000, ranks=(1,)).to_annotation().values()
    assert len(text) < 1200


@pytest.mark.parametrize(
    ("text", "ranks", "blame", "message"),
    [
        ('{"message": "no image", "ranks": [1, 2], "blame": "node"}', (1, 2), Blame.NODE, "no image"),
        ('{"message": "no image", "ranks": [1], "blame": "unknown"}', (1,), Blame.UNKNOWN, "no image"),
        ('{"message": "no image", "ranks": [1]}', (1,), Blame.NODE, "no image"),
        ('{"message": "no image", "ranks": [1], "blame": "the weather"}', (1,), Blame.NODE, "no image"),
        ('{"message": "no image", "ranks": [1], "blame": ["node"]}', (1,), Blame.NODE, "no image"),
        ('{"message": "no image", "ranks": ["1", 2]}', (2,), Blame.NODE, "no image"),
        ('{"message": "no image", "ranks": "12", "blame": "node"}', (), Blame.NOBODY, "no image"),
        ('{"message": 5}', (), Blame.NOBODY, "it could not be started"),
        ("{}", (), Blame.NOBODY, "it could not be started"),
    ],
)
def test_of_a_spoilt_start_error_what_can_be_read_is_taken(text, ranks, blame, message) -> None:
    found = StartError.from_annotations({START_ERROR: text})
    assert found == StartError(message=message, ranks=ranks, blame=blame)


@pytest.mark.parametrize(
    "annotations", [{}, {START_ERROR: ""}, {START_ERROR: "{"}, {START_ERROR: "[1]"}, {START_ERROR: "[" * 99_999}]
)
def test_what_is_no_start_error_is_none(annotations: dict[str, str]) -> None:
    assert StartError.from_annotations(annotations) is None


# -- the record -----------------------------------------------------------------------------------------


def test_a_record_is_read_with_whose_run_it_is() -> None:
    assert Record.read(a_service(GANG, launched="")) == Record(
        nodes=("node-1", "node-2"), created_at=T0, launched=True, killed=False, start_error=None, deleting=False,
        origin=Origin("a1b2", 2), user="ann",
    )  # fmt: skip


def test_marks_of_a_record_count_by_being_there() -> None:
    record = Record.read(a_service(GANG, killed=""))
    assert (record.launched, record.killed, record.deleting) == (False, True, False)
    service = a_service(GANG)
    service["metadata"]["deletionTimestamp"] = stamp(5)
    assert Record.read(service).deleting


@pytest.mark.parametrize("nodes", ["", "x", "[", '"node-1"', '["node-1", 2]', "{}", "null", "[" * 99_999])
def test_spoilt_nodes_count_as_missing(nodes: str) -> None:
    assert Record.read(a_service(GANG, nodes=nodes)).nodes == ()


def test_a_service_of_which_almost_nothing_is_left_is_a_record_without_anything() -> None:
    assert Record.read({"metadata": {"name": "x", "annotations": None}}) == Record(
        nodes=(), created_at=None, launched=False, killed=False, start_error=None, deleting=False
    )


# -- the run --------------------------------------------------------------------------------------------


def of_pods(*ranks: int, removed: tuple[int, ...] = ()) -> RunObjects:
    """A run without a record."""
    launch = a_launch(nodes=tuple(f"node-{n}" for n in range(1, 6)), user="ann", origin=Origin("a1b2", 2))
    return RunObjects(
        run_id=RUN,
        pods={rank: a_pod(launch, rank, node=f"node-{rank + 1}") for rank in ranks},
        removed={rank: a_pod(launch, rank) for rank in removed},
    )


def test_nodes_and_ranks_are_those_of_the_record() -> None:
    run = a_sight(a_pod(GANG, 0, node="node-9"), launch=GANG)
    assert (run.nodes, run.ranks) == (("node-1", "node-2"), 2)


def test_without_a_record_they_are_what_the_pods_show() -> None:
    run = of_pods(0, 2)
    assert (run.nodes, run.ranks) == (("node-1", "?", "node-3"), 3)
    assert (RunObjects(run_id=RUN).nodes, RunObjects(run_id=RUN).ranks) == ((), 0)


def test_a_pod_that_is_on_no_node_yet_shows_none() -> None:
    (run,) = runs_seen([], [a_pod(GANG, 0, node=None)], []).values()
    assert run.nodes == ("?",)


@pytest.mark.parametrize(
    ("run", "rank", "expected"),
    [
        (a_sight(launch=GANG), 0, True),
        (a_sight(launch=GANG), 1, True),
        (a_sight(launch=GANG), 2, False),
        (a_sight(launch=GANG), -1, False),
        (of_pods(0), 0, True),
        (of_pods(0), 1, None),
        (a_sight(launch=GANG, nodes="x"), 1, None),
    ],
)
def test_whether_a_run_has_a_rank_is_not_known_where_nothing_says_so(run: RunObjects, rank: int, expected: Any) -> None:
    assert run.has_rank(rank) is expected


def test_whose_run_it_is_pods_say_where_there_is_no_record() -> None:
    for run in (of_pods(1), of_pods(removed=(1,)), a_sight(launch=GANG)):
        assert (run.origin, run.user) == (Origin("a1b2", 2), "ann")
    assert (RunObjects(run_id=RUN).origin, RunObjects(run_id=RUN).user) == (None, None)


def test_a_removed_pod_counts_only_where_its_run_is_and_its_rank_has_no_other_pod() -> None:
    first, second = a_pod(GANG, 0, **running()), a_pod(GANG, 1)
    assert runs_seen([], [], [first]) == {}
    (run,) = runs_seen([a_service(GANG)], [second], [first, second]).values()
    assert (list(run.pods), list(run.removed)) == ([1], [0])


def test_an_annotation_of_the_error_is_json_with_its_ranks() -> None:
    (text,) = StartError(message="m", ranks=(1, 2), blame=Blame.UNKNOWN).to_annotation().values()
    assert json.loads(text) == {"message": "m", "ranks": [1, 2], "blame": "unknown"}
