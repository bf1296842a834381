"""Lines of logs, and what is found in them, as models of the wire."""

from __future__ import annotations

from hai_scheduler.api.wire.logs import LogCount, LogHits, LogLine, LogPage
from hai_scheduler.service.logs.lines import Hits, Line, Page


def line_out(line: Line) -> LogLine:
    """One line of a log."""
    return LogLine.model_validate(line)


def page_out(page: Page) -> LogPage:
    """A page of a log."""
    return LogPage(lines=[line_out(line) for line in page.lines], next_cursor=str(page.cursor), final=page.final)


def hits_out(hits: Hits) -> LogHits:
    """What a search found."""
    counts = [LogCount(run=run, rank=rank, hits=n) for (run, rank), n in sorted(hits.counts.items())]
    return LogHits(counts=counts, lines=[line_out(line) for line in hits.lines], complete=hits.complete)
