"""What users may hold and hold, for several users at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.service.insight.quota_views import quota_views
from kit.builders import T0, a_rank, a_run, a_task

HIGH = Priority.HIGH
ROWS = [
    Quota(subject="public", group="training", priority=HIGH, limit=2),
    Quota(subject="group:cv", group="training", priority=HIGH, limit=6, expires_at=T0 + timedelta(hours=1)),
    Quota(subject="user:ann", group="training", priority=HIGH, limit=8, ceiling=9, expires_at=T0),
]


def views(**more):
    given = {"now": T0, "node_groups": ["training"], "gpus_per_node": lambda _group: 4}
    groups = {"ann": {"cv"}, "bob": set()}
    return quota_views(ROWS, more.pop("live", []), groups, **{**given, **more})


def test_each_user_has_the_row_that_counts_for_them() -> None:
    found = views()
    assert [(one.limit, one.source, one.expires_at) for one in found["ann"]] == [
        (6, "group:cv", T0 + timedelta(hours=1))
    ]
    assert [(one.limit, one.source, one.expires_at) for one in found["bob"]] == [(2, "public", None)]


def test_a_row_counts_until_it_expires() -> None:
    (own,) = views(now=T0 - timedelta(hours=1))["ann"]
    assert (own.limit, own.ceiling, own.source) == (8, 9, "user:ann")
    (later,) = views(now=T0 + timedelta(hours=2))["ann"]
    assert later.source == "public"


def test_what_is_held_is_counted_by_user_also_where_there_is_no_row() -> None:
    run = replace(a_run(), ranks=(a_rank(0, gpus=(0,)),), priority=Priority.LOW, ended_at=None)
    task = replace(a_task(user="bob", group="h100", gpus=1), state=TaskState.RUNNING, run=run)
    found = views(live=[task, replace(task, user="somebody")])
    assert [(one.group, one.priority, one.used, one.source) for one in found["bob"]] == [
        ("h100", Priority.LOW, 0.25, "none"),
        ("training", HIGH, 0.0, "public"),
    ]
    assert {one.used for one in found["ann"]} == {0.0}
