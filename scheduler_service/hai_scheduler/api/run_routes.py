"""The routes for the supervisors of ranks, which speak with the token of their run."""

from __future__ import annotations

from typing import Final

from hai_scheduler.api.handlers import metrics, profiles, run_facts, runs
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.route import RUN, Route

RUN_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="GET",
        path="/runs/{run_id}",
        access=RUN,
        call=run_facts.show,
        summary="The user and the task of a run, and where its first rank can be reached",
        codes=("gone", "unavailable"),
    ),
    Route(
        method="GET",
        path="/runs/{run_id}/notice",
        access=RUN,
        call=runs.notice,
        kind=Kind.RUN_WAIT,
        summary="Whether a run must leave: answers at once, or waits for a notice that is newer than `seen`",
        codes=("gone",),
        waits=True,
    ),
    Route(
        method="GET",
        path="/runs/{run_id}/addresses",
        access=RUN,
        call=runs.addresses,
        kind=Kind.RUN_WAIT,
        summary="Where the ranks of a run reach each other: answers once all are up, or null after `wait` seconds",
        codes=("gone",),
        waits=True,
    ),
    Route(
        method="PUT",
        path="/runs/{run_id}/ranks/{rank}/log",
        access=RUN,
        call=runs.take_log,
        summary="Add a piece to a rank's log; a piece with the wrong offset is a conflict, and the header "
        "`Upload-Offset` has the right one",
        codes=("gone", "conflict"),
    ),
    Route(
        method="PUT",
        path="/runs/{run_id}/ranks/{rank}/metrics",
        access=RUN,
        call=metrics.take,
        summary="Add points to the metrics of a rank; those that were sent before are left out",
        codes=("gone",),
    ),
    Route(
        method="PUT",
        path="/runs/{run_id}/ranks/{rank}/profiles/{profile}/traces/{trace}",
        access=RUN,
        call=profiles.take_piece,
        summary="Add a piece to the trace of one process, compressed with gzip; as for the log, a piece with the wrong "
        "offset is a conflict",
        codes=("gone", "conflict"),
    ),
    Route(
        method="PUT",
        path="/runs/{run_id}/ranks/{rank}/profiles/{profile}",
        access=RUN,
        call=profiles.finish,
        summary="The end of a rank's recording; repeating it is harmless",
        status=204,
        codes=("gone",),
    ),
    Route(
        method="POST",
        path="/runs/{run_id}/ranks/{rank}/report",
        access=RUN,
        call=runs.report,
        summary="A report of a rank; repeating it is harmless",
        status=204,
        codes=("gone", "conflict"),
    ),
)
