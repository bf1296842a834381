"""Converts lines of logs and search results into models of the wire."""

from __future__ import annotations

from collections.abc import Sequence

from hai_scheduler.api.wire.logs import LogCount, LogExtent, LogExtents, LogHits, LogLine, LogPage
from hai_scheduler.service.logs.lines import Extent, Hits, Page


def page_out(page: Page) -> LogPage:
    """Return the model of a page of a log."""
    lines = [LogLine.model_validate(line) for line in page.lines]
    begins = None if page.begins is None else str(page.begins)
    return LogPage(lines=lines, next_cursor=str(page.cursor), prev_cursor=begins, final=page.final)


def extents_out(extents: Sequence[Extent]) -> LogExtents:
    """Return the model of how much is kept of a log."""
    return LogExtents(items=[LogExtent.model_validate(one) for one in extents])


def hits_out(hits: Hits) -> LogHits:
    """Return the model of the results of a search."""
    counts = [LogCount(run=run, rank=rank, hits=n) for (run, rank), n in sorted(hits.counts.items())]
    lines = [LogLine.model_validate(line) for line in hits.lines]
    return LogHits(counts=counts, lines=lines, complete=hits.complete)
