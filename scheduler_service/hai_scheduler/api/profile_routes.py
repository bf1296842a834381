"""The routes for recordings of running tasks, as users ask for them."""

from __future__ import annotations

from typing import Final

from hai_scheduler.api.handlers import profiles
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.route import Route
from hai_scheduler.service.shared.caller import SCOPE_READ, SCOPE_WRITE

PROFILE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="POST",
        path="/tasks/{task}/profiles",
        access=SCOPE_WRITE,
        call=profiles.order,
        summary="Record what a running task does for some seconds: a trace of its operators, or its Python stacks",
        status=201,
        codes=("not_found", "conflict"),
        location="/tasks/{task}/profiles/{id}",
    ),
    Route(
        method="GET",
        path="/tasks/{task}/profiles",
        access=SCOPE_READ,
        call=profiles.show_all,
        summary="The recordings of a task, the newest first",
        codes=("not_found",),
    ),
    Route(
        method="GET",
        path="/tasks/{task}/profiles/{profile}",
        access=SCOPE_READ,
        call=profiles.show,
        kind=Kind.EXPENSIVE,
        summary="A recording: how far its ranks are, and what it says once they have ended",
        codes=("not_found", "too_many", "unavailable"),
        waits=True,
    ),
    Route(
        method="DELETE",
        path="/tasks/{task}/profiles/{profile}",
        access=SCOPE_WRITE,
        call=profiles.remove,
        summary="Delete a recording with its traces",
        status=204,
        codes=("not_found",),
    ),
    Route(
        method="GET",
        path="/tasks/{task}/profiles/{profile}/trace",
        access=SCOPE_READ,
        call=profiles.all_traces,
        kind=Kind.EXPENSIVE,
        summary="The traces of all ranks as one, as JSON compressed with gzip, which Perfetto opens",
        codes=("not_found", "conflict", "too_many", "unavailable"),
        waits=True,
    ),
    Route(
        method="GET",
        path="/tasks/{task}/profiles/{profile}/ranks/{rank}/traces/{trace}",
        access=SCOPE_READ,
        call=profiles.trace,
        kind=Kind.UPLOAD,
        summary="The trace of one process, as JSON compressed with gzip, which Perfetto opens",
        codes=("not_found",),
    ),
)
