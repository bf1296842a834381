"""The nodes of the simulated cluster: they fail, are put into quarantine, and are repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

from hai_scheduler.core.model.node import Node, NodeMark, Strike
from hai_scheduler.core.model.run import RankState, Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.sim.event_queue import EventQueue
from hai_scheduler.sim.occupancy import Occupancy
from hai_scheduler.sim.records import Records
from hai_scheduler.sim.scenario import Setting


class SimulatedNodes:
    """The nodes, and the failures on them that still count (H3).

    Args:
        setting: The nodes at the beginning, and the model by which they fail.
        agenda: The events of the simulation.
        occupancy: Told when tasks that wait may find room.
        records: Where the number of nodes that are up is recorded; None: nowhere.
        lose_ranks: Called with the name of a node that fails, after it has become unready.
    """

    def __init__(
        self,
        setting: Setting,
        agenda: EventQueue,
        occupancy: Occupancy,
        records: Records | None,
        lose_ranks: Callable[[str], None],
    ) -> None:
        self._setting = setting
        self._agenda = agenda
        self._occupancy = occupancy
        self._records = records
        self._lose_ranks = lose_ranks
        self.by_name: dict[str, Node] = {node.name: node for node in setting.nodes}
        self.strikes: list[Strike] = []
        #: How many nodes are up.
        self.ready = sum(node.ready for node in setting.nodes)
        if records is not None:
            records.ready.append((agenda.now, self.ready))
        self._failures: Iterator[tuple[datetime, str]] | None = None
        if setting.failures is not None:
            self._failures = setting.failures.failures(agenda.now, tuple(self.by_name))
            self._next_failure()

    @property
    def fail(self) -> bool:
        """Whether nodes fail; if so, one event of the agenda is always the next failure."""
        return self._failures is not None

    def count_strikes(self, task: Task, run: Run) -> None:
        """Remember a failure on each node on which the run has lost a rank, and forget those of long ago."""
        now, window = self._agenda.now, self._setting.policies.of(task.group).strike_window
        self.strikes = [strike for strike in self.strikes if now - strike.at <= window]
        lost = {rank.node for rank in run.ranks if rank.state is RankState.LOST}
        self.strikes += [Strike(node=node, task_id=task.id, at=now, user=task.user) for node in sorted(lost)]
        self._occupancy.stirred = True

    def quarantine(self, name: str) -> None:
        """Put the node into quarantine until it is repaired (H3)."""
        self._put(replace(self.by_name[name], mark=NodeMark.QUARANTINED))
        self._mend_later(name)

    def _next_failure(self) -> None:
        assert self._failures is not None
        at, name = next(self._failures)
        self._agenda.add(at, self._fail, name)

    def _fail(self, name: str) -> None:
        """Let a node fail, and with it the ranks on it (H1)."""
        self._next_failure()
        if not self.by_name[name].ready:
            return
        self._put(replace(self.by_name[name], ready=False))
        if self._records is not None:
            self._records.failures += 1
        self._lose_ranks(name)
        self._mend_later(name)

    def _mend_later(self, name: str) -> None:
        if self._setting.failures is not None:
            self._agenda.add(self._agenda.now + self._setting.failures.repair, self._mend, name)

    def _mend(self, name: str) -> None:
        """Take the node back into use, without strikes."""
        node = self.by_name[name]
        mark = NodeMark.NONE if node.mark is NodeMark.QUARANTINED else node.mark
        self.strikes = [strike for strike in self.strikes if strike.node != name]
        self._put(replace(node, ready=True, mark=mark))

    def _put(self, node: Node) -> None:
        self.ready += node.ready - self.by_name[node.name].ready
        self.by_name[node.name] = node
        self._occupancy.stir_waiting()
        if self._records is not None:
            self._records.ready.append((self._agenda.now, self.ready))
