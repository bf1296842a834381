"""The routes for the supervisors of ranks, which speak with the token of their run."""

from __future__ import annotations

from typing import Final

from hai_scheduler.api.handlers import metrics, profiles, runs
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.route import RUN, Route

RUN_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET",
        "/runs/{run_id}",
        RUN,
        runs.facts,
        "The user and the task of a run, and where its first rank can be reached",
        codes=("gone", "unavailable"),
    ),
    Route(
        "GET",
        "/runs/{run_id}/notice",
        RUN,
        runs.notice,
        "Whether a run must leave: answers at once, or waits for a notice that is newer than `seen`",
        kind=Kind.RUN_WAIT,
        codes=("gone",),
        waits=True,
    ),
    Route(
        "GET",
        "/runs/{run_id}/addresses",
        RUN,
        runs.addresses,
        "Where the ranks of a run reach each other: answers once all are up, or null after `wait` seconds",
        kind=Kind.RUN_WAIT,
        codes=("gone",),
        waits=True,
    ),
    Route(
        "PUT",
        "/runs/{run_id}/ranks/{rank}/log",
        RUN,
        runs.take_log,
        "Add a piece to a rank's log; a piece with the wrong offset is a conflict, and the header "
        "`Upload-Offset` has the right one",
        codes=("gone", "conflict"),
    ),
    Route(
        "PUT",
        "/runs/{run_id}/ranks/{rank}/metrics",
        RUN,
        metrics.take,
        "Add points to the metrics of a rank; those that were sent before are left out",
        codes=("gone",),
    ),
    Route(
        "PUT",
        "/runs/{run_id}/ranks/{rank}/profiles/{profile}/traces/{trace}",
        RUN,
        profiles.take_piece,
        "Add a piece to the trace of one process, compressed with gzip; as for the log, a piece with the wrong "
        "offset is a conflict",
        codes=("gone", "conflict"),
    ),
    Route(
        "PUT",
        "/runs/{run_id}/ranks/{rank}/profiles/{profile}",
        RUN,
        profiles.finish,
        "The end of a rank's recording; repeating it is harmless",
        status=204,
        codes=("gone",),
    ),
    Route(
        "POST",
        "/runs/{run_id}/ranks/{rank}/report",
        RUN,
        runs.report,
        "A report of a rank; repeating it is harmless",
        status=204,
        codes=("gone", "conflict"),
    ),
)
