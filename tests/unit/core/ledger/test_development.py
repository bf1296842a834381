"""Rows of development containers."""

from __future__ import annotations

from datetime import timedelta

from hai_scheduler.core.ledger.development import DevelopmentContainer, container_facts, container_rows
from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.row import LedgerOutcome
from kit.builders import T0, at
from kit.ledger import sums_of_rows

HOUR_US = 3_600_000_000
CONTAINER = DevelopmentContainer(
    id="0123456789abcdef",
    user="ann",
    groups=("cv", "nlp"),
    node_group="jupyter",
    gpus=2,
    millicores=500,
    started_at=T0,
    seen_at=at(hours=30),
)


def test_one_that_lives_is_counted_until_then_and_cut_at_midnight() -> None:
    rows = container_rows(container_facts(CONTAINER), CONTAINER, until=at(hours=30))
    assert [(row.started_at, row.ended_at, row.outcome) for row in rows] == [
        (T0, at(hours=16), None),
        (at(hours=16), at(hours=30), None),
    ]
    sums = sums_of_rows(rows)
    assert (sums.gpu_useful_us, sums.core_us, sums.node_us) == (60 * HOUR_US, 15 * HOUR_US, 0)
    assert (sums.starts, sums.ends, sums.waits) == (1, 0, {})


def test_one_that_ended_soon_is_no_short_run_of_the_queue() -> None:
    rows = container_rows(container_facts(CONTAINER), CONTAINER, until=T0, ended_at=T0 + timedelta(minutes=3))
    assert (rows[0].outcome, rows[0].last, rows[0].short) == (LedgerOutcome.STOPPED, True, False)
    assert rows[0].facts.key.kind is WorkKind.DEVELOPMENT


def test_its_name_is_no_name_of_a_run_of_a_task() -> None:
    assert CONTAINER.run_id == "container-0123456789abcdef"
