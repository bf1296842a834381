"""Between JSON and the client's types: decoding is lenient only where the service may grow."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hai_client.codec import WrongShape, decode, encode
from hai_client.wire import schema
from hai_scheduler.api.wire import tasks as wire
from hai_scheduler.api.wire.values import adapter_of
from hai_scheduler.service.tasks.submission import Submission


def test_what_the_client_submits_is_what_the_service_takes() -> None:
    request = schema.TaskRequest(name="a", command=("x",), cwd="/", env={"A": "1"}, tags=("t",), grace_s=5)
    assert adapter_of(Submission).validate_python(encode(request)).grace == timedelta(seconds=5)


@pytest.mark.parametrize("each", [None, 4, "gpu"])
def test_a_field_of_two_plain_types_is_read_as_what_it_is(fake: Any, each: object) -> None:
    document = {**fake.FakePlatform().add("digits", runs=[]), "ranks_per_node": each}
    assert decode(schema.Task, document).ranks_per_node == each
    with pytest.raises(WrongShape, match=r"Task.ranks_per_node: the service sent \[\]"):
        decode(schema.Task, {**document, "ranks_per_node": []})


def test_a_whole_task_survives_the_way_there_and_back(fake: Any) -> None:
    document = fake.FakePlatform().add("digits", runs=[fake.run_of(1)])
    task = decode(schema.Task, document)
    assert task.submitted_at == datetime(2026, 11, 21, 4, tzinfo=UTC)
    assert task.runs[0].ranks[0].exit_code == 0
    assert encode(task) == document
    wire.TaskDetail.model_validate(encode(task))


_NODE = {"name": "n", "group": "g", "leaf": "", "zone": "", "gpus": 8, "ready": True, "mark": "none"}


def test_unknown_fields_are_ignored_and_missing_ones_take_their_default() -> None:
    node = decode(schema.Node, {**_NODE, "colour": "red"})
    assert (node.gpus_free, node.task_id, node.tasks) == (0, None, ())


def test_what_the_service_has_always_sent_must_be_there() -> None:
    with pytest.raises(WrongShape, match=r"Node.mark: the service did not send it"):
        decode(schema.Node, {name: value for name, value in _NODE.items() if name != "mark"})
    with pytest.raises(WrongShape, match=r"Quota.limit: the service did not send it"):
        decode(schema.Quota, {"subject": "public", "group": "g", "priority": "LOW", "expired": False})


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ([], "LogLine:"),
        ({"run": 1}, r"LogLine\.text"),
        ({"run": "1", "text": ""}, r"LogLine\.run"),
        ({"run": True, "text": ""}, r"LogLine\.run"),
        ({"run": 1, "text": "", "cursor": "", "at": "yesterday"}, r"LogLine\.at"),
    ],
)
def test_a_wrong_shape_is_named_by_its_place(value: Any, where: str) -> None:
    with pytest.raises(WrongShape, match=where):
        decode(schema.LogLine, value)
