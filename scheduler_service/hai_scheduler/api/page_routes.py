"""The routes that pages ask: the cluster over a day, the queue, labels, many tasks at once, and what can be tried."""

from __future__ import annotations

from typing import Final

from hai_scheduler.api.handlers import cluster, labels, overview, policy
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.route import Route
from hai_scheduler.api.wire.policy import TrialOut, TrialProgressOut
from hai_scheduler.api.wire.problem import Problem
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, SCOPE_READ, SCOPE_WRITE

_TRIAL = {"progress": TrialProgressOut, "result": TrialOut, "end": None, "problem": Problem}

PAGE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="GET",
        path="/overview",
        access=SCOPE_READ,
        call=overview.overview,
        summary="The cluster now and over the last 24 hours: what is held, useful and idle, and who waits",
    ),
    Route(
        method="GET",
        path="/queue",
        access=SCOPE_READ,
        call=overview.queue,
        summary="The queue in its order: who waits, at which place, for what and about until when",
    ),
    Route(
        method="POST",
        path="/tasks/actions",
        access=SCOPE_WRITE,
        call=labels.act,
        kind=Kind.EXPENSIVE,
        summary="Stop, suspend, resume or hold many tasks; each has a result of its own",
    ),
    Route(
        method="PUT",
        path="/tasks/{task}/tags",
        access=SCOPE_WRITE,
        call=labels.put_tags,
        summary="Give a task other tags",
        codes=("not_found",),
    ),
    Route(
        method="PUT",
        path="/tasks/{task}/star",
        access=SCOPE_WRITE,
        call=labels.star,
        summary="Star a task, for the caller alone",
        codes=("not_found",),
    ),
    Route(
        method="DELETE",
        path="/tasks/{task}/star",
        access=SCOPE_WRITE,
        call=labels.unstar,
        summary="Take the caller's star from a task",
        codes=("not_found",),
    ),
    Route(
        method="POST",
        path="/nodes/preview",
        access=SCOPE_ADMIN,
        call=cluster.preview,
        kind=Kind.EXPENSIVE,
        summary="What a cordon or a drain of nodes would do: who would leave, go on where, and start later; nothing "
        "is done",
        codes=("not_found", "too_large", "too_many", "unavailable"),
        waits=True,
    ),
    Route(
        method="POST",
        path="/policy/try",
        access=SCOPE_ADMIN,
        call=policy.trial,
        kind=Kind.EXPENSIVE,
        summary="Simulate the tasks of the last days with other policy numbers, beside those in force; nothing is "
        "changed. As a stream it tells its progress; a request that is closed ends it",
        codes=("too_large", "too_many", "unavailable"),
        waits=True,
        messages=_TRIAL,
    ),
)
