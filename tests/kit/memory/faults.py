"""What a test has go wrong on a scripted cluster."""

from __future__ import annotations

from dataclasses import replace

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.errors import Temporary
from kit.memory.changes import ScriptedChanges
from kit.memory.scripted import Fate
from kit.memory.scripted_runs import ScriptedRuns


class Faults:
    """Nodes that come, go and fail, ranks and launches that fail, and a cluster that does not answer."""

    def __init__(self, clock: Clock, nodes: dict[str, Node], runs: ScriptedRuns, changes: ScriptedChanges) -> None:
        self._clock = clock
        self._nodes = nodes
        self._runs = runs
        self._changes = changes
        self._broken_after: int | None = None
        #: While it is set, every call of the port raises Temporary.
        self.down = False

    def reach(self) -> None:
        """Raise Temporary while the cluster is down."""
        if self.down:
            raise Temporary("the cluster cannot be reached")

    def put_node(self, node: Node) -> None:
        """Add or change a node; runs on it go on (`ready=False`: the node cannot be reached)."""
        self._nodes[node.name] = node
        self._changes.tell()

    def remove_node(self, name: str) -> None:
        """Remove a node from the cluster; its ranks are lost."""
        self._lose_ranks(name)
        del self._nodes[name]
        self._changes.tell()

    def lose_node(self, name: str) -> None:
        """Let a node fail: it is not ready and its ranks are lost. `put_node` brings it back."""
        self._lose_ranks(name)
        self.put_node(replace(self._nodes[name], ready=False))

    def lose_rank(self, run_id: RunId, rank: int, *, node_well: bool = False) -> None:
        """Let a rank's supervisor die with its processes; `node_well`: the node itself is well. Raises Absent."""
        fate = Fate(at=self._clock.now(), state=RankState.LOST, supervisor_killed=node_well)
        self._runs.rank(run_id, rank).befall(fate)
        self._changes.tell()

    def break_start(self, run_id: RunId, rank: int, error: str) -> None:
        """Let the start of a rank fail, for a reason that is not its user's. Raises Absent."""
        self._runs.rank(run_id, rank).befall(Fate(at=self._clock.now(), error=error))
        self._changes.tell()

    def crowd_out(self, run_id: RunId, rank: int, room: int, whose: str = "") -> None:
        """Let a rank find that pods from outside of HAI leave only so much room on its node. Raises Absent."""
        found = self._runs.rank(run_id, rank)
        found.befall(Fate(at=self._clock.now(), error="Insufficient nvidia.com/gpu", crowded=True))
        self.put_node(replace(self._nodes[found.node], room=room, crowd=whose))

    def break_launch(self, after: int) -> None:
        """Let the next launch raise Temporary after it has started this many ranks."""
        self._broken_after = after

    def take_broken_launch(self) -> int | None:
        """Return how many ranks this launch may start, for one launch only; None: all of them."""
        after, self._broken_after = self._broken_after, None
        return after

    def _lose_ranks(self, node: str) -> None:
        lost = Fate(at=self._clock.now(), state=RankState.LOST)
        for run in self._runs.live().values():
            for rank in run.ranks.values():
                if rank.node == node:
                    rank.befall(lost)
