"""The study of ticks ends: what it calls of the service answers as the study expects."""

from __future__ import annotations

import pytest

from bench import ticks
from bench.figures import Report


def test_the_study_of_ticks_reads_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    for count in ("IDLE", "SUBMITTED", "CHURNED", "READS", "PAGE"):
        monkeypatch.setattr(ticks, count, 2)
    report = Report()
    ticks.measure(report, 3)
    # Beside what waits: a task of each node, and what was submitted to be measured.
    tasks = 3 + ticks.NODES + ticks.SUBMITTED + 3 * ticks.CHURNED
    (pages,) = (each.note for each in report.figures if each.name == "GET /tasks, all pages")
    assert pages == f"{-(-tasks // 2)} pages of 2"
