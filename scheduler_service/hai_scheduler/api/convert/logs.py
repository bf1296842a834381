"""Converts lines of logs and search results into models of the wire."""

from __future__ import annotations

from hai_scheduler.api.wire.logs import LogCount, LogHits, LogLine, LogPage
from hai_scheduler.service.logs.lines import Hits, Page


def page_out(page: Page) -> LogPage:
    """Return the model of a page of a log."""
    lines = [LogLine.model_validate(line) for line in page.lines]
    return LogPage(lines=lines, next_cursor=str(page.cursor), final=page.final)


def hits_out(hits: Hits) -> LogHits:
    """Return the model of the results of a search."""
    counts = [LogCount(run=run, rank=rank, hits=n) for (run, rank), n in sorted(hits.counts.items())]
    lines = [LogLine.model_validate(line) for line in hits.lines]
    return LogHits(counts=counts, lines=lines, complete=hits.complete)
