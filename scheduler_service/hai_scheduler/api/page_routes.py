"""The routes that pages ask: the cluster over a day, the queue, labels, many tasks at once, and what can be tried."""

from __future__ import annotations

from typing import Final

from hai_scheduler.api.handlers import cluster, overview, policy, tasks
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.route import Route
from hai_scheduler.api.wire.policy import TrialOut, TrialProgressOut
from hai_scheduler.api.wire.problem import Problem
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
