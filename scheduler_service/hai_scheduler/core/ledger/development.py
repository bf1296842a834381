"""Development containers in the ledger. They are no tasks: what is known of them is what the Hub tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.ledger.cutting import rows_of
from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.row import LedgerFacts, LedgerKey, LedgerRow
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Run

#: A container that the Hub has not told of for this long has ended, at the time when it was told of last. If the Hub
#: tells of it again, it has lived all the time.
SILENT: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DevelopmentContainer:
    """A development container that lives, as the Hub has told last."""

    #: Given by the Hub when it began, and never again.
    id: str
    user: str
    #: The user's groups at the Hub when it began, sorted.
    groups: tuple[str, ...]
    node_group: str
    gpus: int
    #: The processor cores that it has for itself, in thousandths.
    millicores: int
    started_at: datetime
    #: When the Hub has told last that it lives.
    seen_at: datetime

    @property
    def run_id(self) -> RunId:
        """Its name among the runs of the ledger. Runs of tasks are numbers."""
        return RunId(f"container-{self.id}")


def container_facts(container: DevelopmentContainer) -> LedgerFacts:
    """Return what the ledger keeps of a container. It takes no node time: containers share their nodes."""
    return LedgerFacts(
        run_id=container.run_id,
        task_id=TaskId(0),
        number=1,
        key=LedgerKey(
            user=container.user,
            groups=container.groups,
            node_group=container.node_group,
            # It gives way to nobody, and goes before nobody: rates for all priorities and for NORMAL hold.
            priority=Priority.NORMAL,
            kind=WorkKind.DEVELOPMENT,
        ),
        nodes=0,
        gpus=container.gpus,
        millicores=container.millicores,
    )


def container_rows(
    facts: LedgerFacts, container: DevelopmentContainer, *, until: datetime, ended_at: datetime | None = None
) -> Sequence[LedgerRow]:
    """Return the rows of a container.

    Args:
        facts: What was known when it began.
        container: The container.
        until: Until when it is counted, if it has not ended.
        ended_at: When it ended; None: it lives.
    """
    run = Run(
        id=container.run_id,
        number=1,
        ranks=(),
        priority=facts.key.priority,
        started_at=container.started_at,
        running_at=container.started_at,
        ended_at=ended_at,
        reason=None if ended_at is None else Reason.USER_STOPPED,
    )
    return rows_of(facts, run, until)
