"""The client's types are those of the service, and decoding is lenient only where the service may grow."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from hai_client.codec import WrongShape, decode, encode
from hai_client.wire import explain as explain_schema
from hai_client.wire import policy as policy_schema
from hai_client.wire import schema
from hai_client.wire import storage as storage_schema
from hai_scheduler.api.wire import cluster as cluster_wire
from hai_scheduler.api.wire import events as events_wire
from hai_scheduler.api.wire import explain as explain_wire
from hai_scheduler.api.wire import logs as logs_wire
from hai_scheduler.api.wire import policy as policy_wire
from hai_scheduler.api.wire import quota as quota_wire
from hai_scheduler.api.wire import runs as run_wire
from hai_scheduler.api.wire import storage as storage_wire
from hai_scheduler.api.wire import tasks as wire

PAIRS = [
    (schema.TaskRequest, wire.TaskSubmit),
    (schema.Checkpoint, run_wire.CheckpointOut),
    (schema.Notice, run_wire.NoticeOut),
    (schema.Rank, run_wire.RankOut),
    (schema.Run, run_wire.RunOut),
    (schema.Holder, wire.HolderOut),
    (schema.Verdict, wire.VerdictOut),
    (schema.TaskSummary, wire.TaskSummary),
    (schema.Task, wire.TaskDetail),
    (schema.TaskPage, wire.TaskPage),
    (explain_schema.WhatIf, explain_wire.WhatIfOut),
    (explain_schema.Explanation, explain_wire.ExplainOut),
    (explain_schema.Decision, explain_wire.DecisionOut),
    (explain_schema.DecisionPage, explain_wire.DecisionPage),
    (explain_schema.ForecastCost, explain_wire.ForecastCost),
    (explain_schema.ForecastAssumption, explain_wire.ForecastAssumption),
    (explain_schema.Forecast, explain_wire.ForecastOut),
    (schema.LogLine, logs_wire.LogLine),
    (schema.LogPage, logs_wire.LogPage),
    (schema.LogCount, logs_wire.LogCount),
    (schema.LogHits, logs_wire.LogHits),
    (schema.Event, events_wire.EventOut),
    (schema.EventPage, events_wire.EventPage),
    (schema.Node, cluster_wire.NodeOut),
    (schema.NodeList, cluster_wire.NodeList),
    (schema.LevelCount, cluster_wire.LevelCount),
    (schema.GroupOverview, cluster_wire.GroupOverview),
    (schema.Cluster, cluster_wire.ClusterOut),
    (schema.Quota, quota_wire.QuotaOut),
    (schema.QuotaList, quota_wire.QuotaList),
    (schema.OwnQuota, quota_wire.OwnQuota),
    (schema.Me, quota_wire.MeOut),
    (policy_schema.PolicyValue, policy_wire.PolicyValue),
    (policy_schema.PolicyNumber, policy_wire.PolicyNumber),
    (policy_schema.Policy, policy_wire.PolicyOut),
    (storage_schema.MountRule, storage_wire.MountRuleOut),
    (storage_schema.MountRuleList, storage_wire.MountRuleList),
    (storage_schema.Environment, storage_wire.EnvironmentOut),
    (storage_schema.EnvironmentList, storage_wire.EnvironmentList),
    (storage_schema.Mounted, storage_wire.MountedOut),
    (storage_schema.Overruled, storage_wire.OverruledOut),
    (storage_schema.Offered, storage_wire.OfferedEnvironment),
    (storage_schema.Places, storage_wire.PlacesOut),
    (schema.Health, cluster_wire.HealthOut),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda kind: kind.__name__)
def test_a_type_has_the_fields_that_the_service_sends(ours: Any, theirs: Any) -> None:
    assert {field.name for field in dataclasses.fields(ours)} == set(theirs.model_fields)


def test_what_the_client_submits_is_what_the_service_takes() -> None:
    request = schema.TaskRequest(name="a", command=("x",), cwd="/", env={"A": "1"}, tags=("t",), grace_s=5)
    assert wire.TaskSubmit.model_validate(encode(request)).grace_s == 5


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


def test_unknown_fields_are_ignored_and_missing_ones_take_their_default() -> None:
    node = decode(schema.Node, {"name": "n", "group": "g", "ready": True, "mark": "none", "colour": "red"})
    assert (node.gpus, node.task_id) == (0, None)


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ([], "LogLine:"),
        ({"run": 1}, r"LogLine\.text"),
        ({"run": "1", "text": ""}, r"LogLine\.run"),
        ({"run": True, "text": ""}, r"LogLine\.run"),
        ({"run": 1, "text": "", "at": "yesterday"}, r"LogLine\.at"),
    ],
)
def test_a_wrong_shape_is_named_by_its_place(value: Any, where: str) -> None:
    with pytest.raises(WrongShape, match=where):
        decode(schema.LogLine, value)
