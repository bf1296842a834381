"""The routes for recordings of running tasks, as users ask for them."""

from __future__ import annotations

from typing import Final

from hai_scheduler.api.handlers import profiles
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.route import Route
from hai_scheduler.service.shared.caller import SCOPE_READ, SCOPE_WRITE

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
