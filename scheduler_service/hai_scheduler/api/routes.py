"""The table of all routes of the interface. The OpenAPI document and the reference are made from it too."""

from __future__ import annotations

import json
from functools import cache
from typing import Final

from hai_scheduler.api.admin_routes import ADMIN_ROUTES
from hai_scheduler.api.bindings.openapi import document
from hai_scheduler.api.cost_routes import COST_ROUTES
from hai_scheduler.api.handlers import (
    active_users,
    cluster,
    environments,
    events,
    explaining,
    logs,
    meta,
    metrics,
    policy,
    probes,
    snapshots,
    storage,
    tasks,
)
from hai_scheduler.api.notification_routes import NOTIFICATION_ROUTES
from hai_scheduler.api.page_routes import PAGE_ROUTES
from hai_scheduler.api.profile_routes import PROFILE_ROUTES
from hai_scheduler.api.run_routes import RUN_ROUTES
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.route import OPEN, Ask, Route, Text
from hai_scheduler.api.wire.events import EventOut
from hai_scheduler.api.wire.logs import LogLine
from hai_scheduler.api.wire.metrics import TaskSeriesOut
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.problem import Problem
from hai_scheduler.service.shared.caller import (
    SCOPE_ACTIVE_USERS,
    SCOPE_ADMIN,
    SCOPE_CONTAINERS,
    SCOPE_METRICS,
    SCOPE_READ,
    SCOPE_WRITE,
)

#: Below the service's prefix.
API: Final = "api/v1"

#: The largest manifest of a snapshot as it is sent, and the largest stream of contents, in bytes.
MAX_PACKED_MANIFEST: Final = 16 * 1024 * 1024
MAX_CONTENTS: Final = 1024 * 1024 * 1024

#: Messages of the streams; a stream that fails after it has begun sends a `problem`.
_LINES = {"line": LogLine, "end": None, "problem": Problem}
_POINTS = {"points": TaskSeriesOut, "end": None, "problem": Problem}
_EVENTS = {"hello": None, "*": EventOut, "problem": Problem}
_RESUME = {"Last-Event-ID": "The `id` of the last message that was received; the stream goes on after it."}


async def describe(ask: Ask[Nothing, Nothing]) -> Text:  # noqa: ARG001 - every endpoint is called alike
    """Return the OpenAPI document."""
    return Text(_document(), "application/json")


@cache
def _document() -> bytes:
    return json.dumps(document(ROUTES), ensure_ascii=False).encode()


ROUTES: Final[tuple[Route, ...]] = (
    Route(method="GET", path="/health", access=OPEN, call=meta.health, summary="Whether the service is well"),
    Route(method="GET", path="/health/live", access=OPEN, call=probes.live, summary="Whether the process answers"),
    Route(
        method="GET",
        path="/health/ready",
        access=OPEN,
        call=probes.ready,
        summary="Whether requests should be sent to this replica, and which replica leads",
        codes=("unavailable",),
    ),
    Route(method="GET", path="/openapi.json", access=OPEN, call=describe, summary="This document"),
    Route(method="GET", path="/metrics", access=SCOPE_METRICS, call=meta.metrics, summary="Metrics for Prometheus"),
    Route(method="GET", path="/me", access=SCOPE_READ, call=meta.me, summary="The caller with their quota and its use"),
    Route(
        method="PUT",
        path="/me/quota",
        access=SCOPE_WRITE,
        call=cluster.put_own_quota,
        summary="Raise or lower the caller's own quota, up to the ceiling that an admin has set",
    ),
    Route(
        method="GET",
        path="/policy",
        access=SCOPE_READ,
        call=policy.show,
        summary="The policy numbers, and where each comes from",
    ),
    Route(method="GET", path="/cluster", access=SCOPE_READ, call=cluster.overview, summary="The cluster at a glance"),
    Route(
        method="GET",
        path="/cluster/use",
        access=SCOPE_READ,
        call=metrics.now,
        kind=Kind.EXPENSIVE,
        summary="The tasks that hold nodes; of the caller's own, or of all for an admin, also what they use now",
    ),
    Route(
        method="POST",
        path="/cluster/pause",
        access=SCOPE_ADMIN,
        call=cluster.pause,
        summary="Tell every run to leave and start nothing until resume",
    ),
    Route(
        method="POST",
        path="/cluster/resume",
        access=SCOPE_ADMIN,
        call=cluster.resume,
        summary="End the pause",
    ),
    Route(
        method="POST",
        path="/tasks",
        access=SCOPE_WRITE,
        call=tasks.submit,
        summary="Submit a task",
        status=201,
        codes=("conflict", "quota", "unavailable"),
        location="/tasks/{id}",
        headers={
            "Idempotency-Key": "A text of your choice: sent again with the same body, it returns the task that it made."
        },
    ),
    Route(
        method="POST",
        path="/tasks/parse",
        access=SCOPE_WRITE,
        call=tasks.parse,
        kind=Kind.EXPENSIVE,
        summary="Read an experiment file (YAML, version 2) as the body that submits it; nothing is submitted",
        codes=("too_large", "too_many", "unavailable"),
        waits=True,
    ),
    Route(method="GET", path="/tasks", access=SCOPE_READ, call=tasks.show_all, summary="List tasks, newest first"),
    Route(
        method="GET",
        path="/tasks/{task}",
        access=SCOPE_READ,
        call=tasks.show,
        summary="A task with its runs",
        codes=("not_found",),
    ),
    Route(
        method="POST",
        path="/tasks/{task}/stop",
        access=SCOPE_WRITE,
        call=tasks.stop,
        summary="End a task for good; a run of it has its grace to save",
        codes=("not_found", "conflict"),
    ),
    Route(
        method="POST",
        path="/tasks/{task}/suspend",
        access=SCOPE_WRITE,
        call=tasks.suspend,
        summary="Take a task's nodes now and hold it until resume",
        codes=("not_found", "conflict"),
    ),
    Route(
        method="POST",
        path="/tasks/{task}/resume",
        access=SCOPE_WRITE,
        call=tasks.resume,
        summary="End a suspension or a hold",
        codes=("not_found", "conflict"),
    ),
    Route(
        method="POST",
        path="/tasks/{task}/hold",
        access=SCOPE_WRITE,
        call=tasks.hold,
        summary="Do not start a task (again) until resume; a run of it goes on",
        codes=("not_found", "conflict"),
    ),
    Route(
        method="PUT",
        path="/tasks/{task}/priority",
        access=SCOPE_WRITE,
        call=tasks.set_priority,
        summary="Change a task's priority",
        codes=("not_found", "conflict", "quota"),
    ),
    Route(
        method="PUT",
        path="/tasks/{task}/order",
        access=SCOPE_WRITE,
        call=tasks.reorder,
        summary="Move a waiting task before or after another of the same user and priority",
        codes=("not_found", "conflict"),
    ),
    Route(
        method="GET",
        path="/tasks/{task}/runs",
        access=SCOPE_READ,
        call=tasks.runs,
        summary="A task's runs",
        codes=("not_found",),
    ),
    Route(
        method="GET",
        path="/tasks/{task}/explain",
        access=SCOPE_READ,
        call=explaining.explain,
        kind=Kind.EXPENSIVE,
        summary="Why a task waits and what would let it start, or what it does",
        codes=("not_found", "too_large", "too_many", "unavailable"),
        waits=True,
    ),
    Route(
        method="GET",
        path="/tasks/{task}/decisions",
        access=SCOPE_READ,
        call=explaining.decisions,
        summary="The decisions on a task: changes of what it waited for, starts, notices, ends",
        codes=("not_found",),
    ),
    Route(
        method="POST",
        path="/forecast",
        access=SCOPE_WRITE,
        call=explaining.forecast,
        kind=Kind.EXPENSIVE,
        summary="When a waiting task, or a task that is not submitted yet, would start; nothing is submitted",
        codes=("not_found", "conflict", "quota", "too_many", "unavailable"),
        waits=True,
    ),
    Route(
        method="GET",
        path="/tasks/{task}/events",
        access=SCOPE_READ,
        call=tasks.events,
        summary="A task's history",
        codes=("not_found",),
    ),
    Route(
        method="GET",
        path="/tasks/{task}/logs",
        access=SCOPE_READ,
        call=logs.read,
        summary="A rank's log over all runs of a task, as a page or as a stream",
        codes=("not_found", "unavailable"),
        headers=_RESUME,
        messages=_LINES,
    ),
    Route(
        method="GET",
        path="/tasks/{task}/logs/extents",
        access=SCOPE_READ,
        call=logs.extents,
        kind=Kind.EXPENSIVE,
        summary="How much is kept of a rank's log, by run",
        codes=("not_found", "unavailable"),
    ),
    Route(
        method="GET",
        path="/tasks/{task}/logs/download",
        access=SCOPE_READ,
        call=logs.download,
        kind=Kind.UPLOAD,
        summary="A rank's log over all runs of a task, as a text file",
        codes=("not_found", "unavailable"),
    ),
    Route(
        method="GET",
        path="/tasks/{task}/metrics",
        access=SCOPE_READ,
        call=metrics.read,
        kind=Kind.EXPENSIVE,
        summary="What the ranks of a task used, over all its runs, or as a stream their newest points",
        codes=("not_found", "unavailable"),
        headers=_RESUME,
        messages=_POINTS,
    ),
    Route(
        method="GET",
        path="/tasks/{task}/logs/search",
        access=SCOPE_READ,
        call=logs.search,
        kind=Kind.EXPENSIVE,
        summary="Search for a text in the logs of all ranks and runs",
        codes=("not_found", "too_large", "too_many", "unavailable"),
        waits=True,
    ),
    Route(
        method="GET",
        path="/tasks/{task}/snapshot",
        access=SCOPE_READ,
        call=snapshots.manifest,
        summary="The manifest of the snapshot of a task's code: path, kind, size and SHA-256 of each file",
        codes=("not_found", "unavailable"),
    ),
    Route(
        method="GET",
        path="/tasks/{task}/snapshot/pack",
        access=SCOPE_READ,
        call=snapshots.pack,
        kind=Kind.UPLOAD,
        summary="The contents of a task's snapshot, from the one with number `start` on, as many as are one piece: a "
        "zlib stream of records, each SHA-256, size and bytes",
        codes=("not_found", "unavailable"),
    ),
    Route(
        method="GET",
        path="/snapshots/rules",
        access=SCOPE_READ,
        call=snapshots.rules,
        summary="Whether tasks of a node group start in a snapshot of their code, and how large one may be",
    ),
    Route(
        method="GET",
        path="/snapshots/{digest}",
        access=SCOPE_WRITE,
        call=snapshots.show,
        summary="How much of a snapshot of the caller's is stored",
        codes=("not_found", "unavailable"),
    ),
    Route(
        method="PUT",
        path="/snapshots/{digest}",
        access=SCOPE_WRITE,
        call=snapshots.offer,
        kind=Kind.UPLOAD,
        most=MAX_PACKED_MANIFEST,
        summary="Send the manifest of a snapshot, compressed with zlib; the answer says which contents are missing",
        codes=("too_large", "unavailable"),
    ),
    Route(
        method="POST",
        path="/snapshots/{digest}/contents",
        access=SCOPE_WRITE,
        call=snapshots.send,
        begin=snapshots.begin,
        kind=Kind.UPLOAD,
        most=MAX_CONTENTS,
        summary="Send contents that are missing, in one zlib stream of records, each SHA-256, size and bytes; those "
        "that have arrived are kept if the stream breaks off",
        codes=("not_found", "too_large", "unavailable"),
    ),
    Route(
        method="GET",
        path="/events",
        access=SCOPE_READ,
        call=events.follow,
        kind=Kind.STREAM,
        summary="The caller's own events and the cluster's, as they happen",
        headers=_RESUME,
        messages=_EVENTS,
    ),
    Route(method="GET", path="/nodes", access=SCOPE_READ, call=cluster.nodes, summary="All nodes, by name"),
    Route(
        method="GET",
        path="/quotas",
        access=SCOPE_READ,
        call=cluster.quotas,
        summary="Rows of quota: admins see all, users see those that can count for them",
    ),
    *ADMIN_ROUTES,
    *COST_ROUTES,
    *PAGE_ROUTES,
    Route(
        method="GET",
        path="/environments",
        access=SCOPE_READ,
        call=environments.show_all,
        summary="What the caller's tasks can run in: images, and environments of haienv",
    ),
    Route(
        method="GET",
        path="/environments/{environment}",
        access=SCOPE_READ,
        call=environments.show,
        summary="What a name means for the caller: an image, or an environment with its packages",
        codes=("not_found",),
    ),
    Route(
        method="POST",
        path="/environments/{environment}/builds",
        access=SCOPE_WRITE,
        call=environments.build,
        summary="Create or change an environment of haienv by a task, whose log is that of the build",
        status=201,
        codes=("not_found", "conflict", "quota", "unavailable"),
        location="/tasks/{id}",
        headers={"Idempotency-Key": "As for `POST /tasks`: sent again with the same body, it returns the same task."},
    ),
    Route(
        method="GET",
        path="/container-config",
        access=SCOPE_CONTAINERS,
        call=storage.container_config,
        summary="What a development container of a user gets: mounts and environments, resolved",
    ),
    Route(
        method="GET",
        path="/active-users",
        access=SCOPE_ACTIVE_USERS,
        call=active_users.show,
        summary="The names of users with live tasks, whose servers are not idle",
    ),
    *NOTIFICATION_ROUTES,
    *PROFILE_ROUTES,
    *RUN_ROUTES,
)
