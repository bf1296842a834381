"""The routes that pages ask: the cluster over a day, the queue, labels, trials, recordings, secrets, notifications."""

from __future__ import annotations

from typing import Final

from hai_scheduler.api.handlers import cluster, notifications, overview, policy, profiles, secrets, tasks
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.route import Route
from hai_scheduler.api.wire.policy import TrialOut, TrialProgressOut
from hai_scheduler.api.wire.problem import Problem
from hai_scheduler.core.model.limits import MAX_SECRET_BYTES
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, SCOPE_READ, SCOPE_WRITE

_TRIAL = {"progress": TrialProgressOut, "result": TrialOut, "end": None, "problem": Problem}

PAGE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET",
        "/overview",
        SCOPE_READ,
        overview.overview,
        "The cluster now and over the last 24 hours: what is held, useful and idle, and who waits",
    ),
    Route(
        "GET",
        "/queue",
        SCOPE_READ,
        overview.queue,
        "The queue in its order: who waits, at which place, for what and about until when",
    ),
    Route(
        "POST",
        "/tasks/actions",
        SCOPE_WRITE,
        tasks.act,
        "Stop, suspend, resume or hold many tasks; each has a result of its own",
        kind=Kind.EXPENSIVE,
    ),
    Route("PUT", "/tasks/{task}/tags", SCOPE_WRITE, tasks.put_tags, "Give a task other tags", codes=("not_found",)),
    Route(
        "PUT", "/tasks/{task}/star", SCOPE_WRITE, tasks.star, "Star a task, for the caller alone", codes=("not_found",)
    ),
    Route(
        "DELETE",
        "/tasks/{task}/star",
        SCOPE_WRITE,
        tasks.unstar,
        "Take the caller's star from a task",
        codes=("not_found",),
    ),
    Route(
        "POST",
        "/nodes/preview",
        SCOPE_ADMIN,
        cluster.preview,
        "What a cordon or a drain of nodes would do: who would leave, go on where, and start later; nothing is done",
        kind=Kind.EXPENSIVE,
        codes=("not_found", "too_large", "too_many", "unavailable"),
        waits=True,
    ),
    Route(
        "POST",
        "/policy/try",
        SCOPE_ADMIN,
        policy.trial,
        "Simulate the tasks of the last days with other policy numbers, beside those in force; nothing is "
        "changed. As a stream it tells its progress; a request that is closed ends it",
        kind=Kind.EXPENSIVE,
        codes=("too_large", "too_many", "unavailable"),
        waits=True,
        messages=_TRIAL,
    ),
)


PROFILE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "POST",
        "/tasks/{task}/profiles",
        SCOPE_WRITE,
        profiles.order,
        "Record what a running task does for some seconds: a trace of its operators, or its Python stacks",
        status=201,
        codes=("not_found", "conflict"),
        location="/tasks/{task}/profiles/{id}",
    ),
    Route(
        "GET",
        "/tasks/{task}/profiles",
        SCOPE_READ,
        profiles.show_all,
        "The recordings of a task, the newest first",
        codes=("not_found",),
    ),
    Route(
        "GET",
        "/tasks/{task}/profiles/{profile}",
        SCOPE_READ,
        profiles.show,
        "A recording: how far its ranks are, and what it says once they have ended",
        kind=Kind.EXPENSIVE,
        codes=("not_found", "too_many", "unavailable"),
        waits=True,
    ),
    Route(
        "DELETE",
        "/tasks/{task}/profiles/{profile}",
        SCOPE_WRITE,
        profiles.remove,
        "Delete a recording with its traces",
        status=204,
        codes=("not_found",),
    ),
    Route(
        "GET",
        "/tasks/{task}/profiles/{profile}/trace",
        SCOPE_READ,
        profiles.all_traces,
        "The traces of all ranks as one, as JSON compressed with gzip, which Perfetto opens",
        kind=Kind.EXPENSIVE,
        codes=("not_found", "conflict", "too_many", "unavailable"),
        waits=True,
    ),
    Route(
        "GET",
        "/tasks/{task}/profiles/{profile}/ranks/{rank}/traces/{trace}",
        SCOPE_READ,
        profiles.trace,
        "The trace of one process, as JSON compressed with gzip, which Perfetto opens",
        kind=Kind.UPLOAD,
        codes=("not_found",),
    ),
)


SECRET_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET",
        "/secrets",
        SCOPE_READ,
        secrets.show_all,
        "The caller's secrets: names, versions and when they were used; nobody is shown a value",
    ),
    Route(
        "PUT",
        "/secrets/{secret}",
        SCOPE_WRITE,
        secrets.put,
        "Set a secret of the caller: the body is its value. Runs that start from then on get it",
        codes=("conflict",),
        most=MAX_SECRET_BYTES,
    ),
    Route(
        "DELETE",
        "/secrets/{secret}",
        SCOPE_WRITE,
        secrets.delete,
        "Remove a secret of the caller: tasks that name it do not start any more",
        status=204,
        codes=("not_found",),
    ),
    Route(
        "POST",
        "/secrets/reseal",
        SCOPE_ADMIN,
        secrets.reseal,
        "Seal the secrets of all users with the newest key, after a change of keys; nothing of them is shown",
        kind=Kind.EXPENSIVE,
    ),
)


NOTIFICATION_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET",
        "/me/notifications",
        SCOPE_READ,
        notifications.show,
        "What the caller is told and where, and the channels that there are",
    ),
    Route(
        "PUT",
        "/me/notifications",
        SCOPE_WRITE,
        notifications.put,
        "Write what the caller is told and where; the key of a new webhook is in this answer alone",
    ),
    Route(
        "POST",
        "/me/notifications/test",
        SCOPE_WRITE,
        notifications.test,
        "Have a test sent over the caller's channels; `GET /notifications` shows what came of it",
        kind=Kind.EXPENSIVE,
        status=202,
        codes=("too_many",),
    ),
    Route(
        "GET",
        "/notifications",
        SCOPE_READ,
        notifications.page,
        "What the caller was told in the last seven days, the newest first",
    ),
    Route(
        "POST",
        "/notifications/read",
        SCOPE_WRITE,
        notifications.mark_read,
        "Mark the caller's notifications up to an id as read",
    ),
    Route(
        "GET",
        "/notifications/sinks",
        SCOPE_ADMIN,
        notifications.sinks,
        "What this platform sends over: whether there is mail, and the names of the sinks",
    ),
)
