"""The table of all routes of the interface. The OpenAPI document and the reference are made from it too."""

from __future__ import annotations

import json
from functools import cache
from typing import Final

from hai_scheduler.api.admin_routes import ADMIN_ROUTES
from hai_scheduler.api.bindings.openapi import document
from hai_scheduler.api.cost_routes import COST_ROUTES
from hai_scheduler.api.handlers import (
    cluster,
    environments,
    events,
    logs,
    meta,
    metrics,
    people,
    policy,
    snapshots,
    storage,
    tasks,
)
from hai_scheduler.api.page_routes import NOTIFICATION_ROUTES, PAGE_ROUTES, PROFILE_ROUTES, SECRET_ROUTES
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
    Route("GET", "/health", OPEN, meta.health, "Whether the service is well"),
    Route("GET", "/health/live", OPEN, meta.live, "Whether the process answers"),
    Route(
        "GET",
        "/health/ready",
        OPEN,
        meta.ready,
        "Whether requests should be sent to this replica, and which replica leads",
        codes=("unavailable",),
    ),
    Route("GET", "/openapi.json", OPEN, describe, "This document"),
    Route("GET", "/metrics", SCOPE_METRICS, meta.metrics, "Metrics for Prometheus"),
    Route(
        "GET",
        "/versions",
        SCOPE_READ,
        meta.versions,
        "The versions of the service, its database, and the parts that speak with it",
        kind=Kind.EXPENSIVE,
    ),
    Route("GET", "/me", SCOPE_READ, meta.me, "The caller with their quota and its use"),
    Route(
        "PUT",
        "/me/quota",
        SCOPE_WRITE,
        cluster.put_own_quota,
        "Raise or lower the caller's own quota, up to the ceiling that an admin has set",
    ),
    Route("GET", "/policy", SCOPE_READ, policy.show, "The policy numbers, and where each comes from"),
    Route("GET", "/cluster", SCOPE_READ, cluster.overview, "The cluster at a glance"),
    Route(
        "GET",
        "/cluster/use",
        SCOPE_READ,
        metrics.now,
        "The tasks that hold nodes; of the caller's own, or of all for an admin, also what they use now",
        kind=Kind.EXPENSIVE,
    ),
    Route(
        "POST", "/cluster/pause", SCOPE_ADMIN, cluster.pause, "Tell every run to leave and start nothing until resume"
    ),
    Route("POST", "/cluster/resume", SCOPE_ADMIN, cluster.resume, "End the pause"),
    Route(
        "POST",
        "/tasks",
        SCOPE_WRITE,
        tasks.submit,
        "Submit a task",
        status=201,
        codes=("conflict", "quota", "unavailable"),
        location="/tasks/{id}",
        headers={
            "Idempotency-Key": "A text of your choice: sent again with the same body, it returns the task that it made."
        },
    ),
    Route(
        "POST",
        "/tasks/parse",
        SCOPE_WRITE,
        tasks.parse,
        "Read an experiment file (YAML, version 2) as the body that submits it; nothing is submitted",
        kind=Kind.EXPENSIVE,
        codes=("too_large", "too_many", "unavailable"),
        waits=True,
    ),
    Route("GET", "/tasks", SCOPE_READ, tasks.show_all, "List tasks, newest first"),
    Route("GET", "/tasks/{task}", SCOPE_READ, tasks.show, "A task with its runs", codes=("not_found",)),
    Route(
        "POST",
        "/tasks/{task}/stop",
        SCOPE_WRITE,
        tasks.stop,
        "End a task for good; a run of it has its grace to save",
        codes=("not_found", "conflict"),
    ),
    Route(
        "POST",
        "/tasks/{task}/suspend",
        SCOPE_WRITE,
        tasks.suspend,
        "Take a task's nodes now and hold it until resume",
        codes=("not_found", "conflict"),
    ),
    Route(
        "POST",
        "/tasks/{task}/resume",
        SCOPE_WRITE,
        tasks.resume,
        "End a suspension or a hold",
        codes=("not_found", "conflict"),
    ),
    Route(
        "POST",
        "/tasks/{task}/hold",
        SCOPE_WRITE,
        tasks.hold,
        "Do not start a task (again) until resume; a run of it goes on",
        codes=("not_found", "conflict"),
    ),
    Route(
        "PUT",
        "/tasks/{task}/priority",
        SCOPE_WRITE,
        tasks.set_priority,
        "Change a task's priority",
        codes=("not_found", "conflict", "quota"),
    ),
    Route(
        "PUT",
        "/tasks/{task}/order",
        SCOPE_WRITE,
        tasks.reorder,
        "Move a waiting task before or after another of the same user and priority",
        codes=("not_found", "conflict"),
    ),
    Route("GET", "/tasks/{task}/runs", SCOPE_READ, tasks.runs, "A task's runs", codes=("not_found",)),
    Route(
        "GET",
        "/tasks/{task}/explain",
        SCOPE_READ,
        tasks.explain,
        "Why a task waits and what would let it start, or what it does",
        kind=Kind.EXPENSIVE,
        codes=("not_found", "too_large", "too_many", "unavailable"),
        waits=True,
    ),
    Route(
        "GET",
        "/tasks/{task}/decisions",
        SCOPE_READ,
        tasks.decisions,
        "The decisions on a task: changes of what it waited for, starts, notices, ends",
        codes=("not_found",),
    ),
    Route(
        "POST",
        "/forecast",
        SCOPE_WRITE,
        tasks.forecast,
        "When a waiting task, or a task that is not submitted yet, would start; nothing is submitted",
        kind=Kind.EXPENSIVE,
        codes=("not_found", "conflict", "quota", "too_many", "unavailable"),
        waits=True,
    ),
    Route("GET", "/tasks/{task}/events", SCOPE_READ, tasks.events, "A task's history", codes=("not_found",)),
    Route(
        "GET",
        "/tasks/{task}/logs",
        SCOPE_READ,
        logs.read,
        "A rank's log over all runs of a task, as a page or as a stream",
        codes=("not_found", "unavailable"),
        headers=_RESUME,
        messages=_LINES,
    ),
    Route(
        "GET",
        "/tasks/{task}/logs/extents",
        SCOPE_READ,
        logs.extents,
        "How much is kept of a rank's log, by run",
        kind=Kind.EXPENSIVE,
        codes=("not_found", "unavailable"),
    ),
    Route(
        "GET",
        "/tasks/{task}/logs/download",
        SCOPE_READ,
        logs.download,
        "A rank's log over all runs of a task, as a text file",
        kind=Kind.UPLOAD,
        codes=("not_found", "unavailable"),
    ),
    Route(
        "GET",
        "/tasks/{task}/metrics",
        SCOPE_READ,
        metrics.read,
        "What the ranks of a task used, over all its runs, or as a stream their newest points",
        kind=Kind.EXPENSIVE,
        codes=("not_found", "unavailable"),
        headers=_RESUME,
        messages=_POINTS,
    ),
    Route(
        "GET",
        "/tasks/{task}/logs/search",
        SCOPE_READ,
        logs.search,
        "Search for a text in the logs of all ranks and runs",
        kind=Kind.EXPENSIVE,
        codes=("not_found", "too_large", "too_many", "unavailable"),
        waits=True,
    ),
    Route(
        "GET",
        "/tasks/{task}/snapshot",
        SCOPE_READ,
        snapshots.manifest,
        "The manifest of the snapshot of a task's code: path, kind, size and SHA-256 of each file",
        codes=("not_found", "unavailable"),
    ),
    Route(
        "GET",
        "/tasks/{task}/snapshot/pack",
        SCOPE_READ,
        snapshots.pack,
        "The contents of a task's snapshot, from the one with number `start` on, as many as are one piece: a "
        "zlib stream of records, each SHA-256, size and bytes",
        kind=Kind.UPLOAD,
        codes=("not_found", "unavailable"),
    ),
    Route(
        "GET",
        "/snapshots/rules",
        SCOPE_READ,
        snapshots.rules,
        "Whether tasks of a node group start in a snapshot of their code, and how large one may be",
    ),
    Route(
        "GET",
        "/snapshots/{digest}",
        SCOPE_WRITE,
        snapshots.show,
        "How much of a snapshot of the caller's is stored",
        codes=("not_found", "unavailable"),
    ),
    Route(
        "PUT",
        "/snapshots/{digest}",
        SCOPE_WRITE,
        snapshots.offer,
        "Send the manifest of a snapshot, compressed with zlib; the answer says which contents are missing",
        kind=Kind.UPLOAD,
        most=MAX_PACKED_MANIFEST,
        codes=("too_large", "unavailable"),
    ),
    Route(
        "POST",
        "/snapshots/{digest}/contents",
        SCOPE_WRITE,
        snapshots.send,
        "Send contents that are missing, in one zlib stream of records, each SHA-256, size and bytes; those "
        "that have arrived are kept if the stream breaks off",
        begin=snapshots.begin,
        kind=Kind.UPLOAD,
        most=MAX_CONTENTS,
        codes=("not_found", "too_large", "unavailable"),
    ),
    Route(
        "GET",
        "/events",
        SCOPE_READ,
        events.follow,
        "The caller's own events and the cluster's, as they happen",
        kind=Kind.STREAM,
        headers=_RESUME,
        messages=_EVENTS,
    ),
    Route("GET", "/nodes", SCOPE_READ, cluster.nodes, "All nodes, by name"),
    Route(
        "GET",
        "/quotas",
        SCOPE_READ,
        cluster.quotas,
        "Rows of quota: admins see all, users see those that can count for them",
    ),
    *ADMIN_ROUTES,
    *COST_ROUTES,
    *PAGE_ROUTES,
    Route(
        "GET",
        "/environments",
        SCOPE_READ,
        environments.show_all,
        "What the caller's tasks can run in: images, and environments of haienv",
    ),
    Route(
        "GET",
        "/environments/{environment}",
        SCOPE_READ,
        environments.show,
        "What a name means for the caller: an image, or an environment with its packages",
        codes=("not_found",),
    ),
    Route(
        "POST",
        "/environments/{environment}/builds",
        SCOPE_WRITE,
        environments.build,
        "Create or change an environment of haienv by a task, whose log is that of the build",
        status=201,
        codes=("not_found", "conflict", "quota", "unavailable"),
        location="/tasks/{id}",
        headers={"Idempotency-Key": "As for `POST /tasks`: sent again with the same body, it returns the same task."},
    ),
    Route(
        "GET",
        "/container-config",
        SCOPE_CONTAINERS,
        storage.container_config,
        "What a development container of a user gets: mounts and environments, resolved",
    ),
    Route(
        "GET",
        "/active-users",
        SCOPE_ACTIVE_USERS,
        people.active,
        "The names of users with live tasks, whose servers are not idle",
    ),
    *NOTIFICATION_ROUTES,
    *PROFILE_ROUTES,
    *SECRET_ROUTES,
    *RUN_ROUTES,
)
