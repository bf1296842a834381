"""The health of the platform as admins see it: scheduler, database, cluster, versions, and the alarms in force."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.values import DatabaseFacts, Lease
from hai_scheduler.service.insight.queries import NodeView, Queries
from hai_scheduler.service.platform.health import Health, WellBeing
from hai_scheduler.service.platform.loop_status import LoopStatus
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.world import UseCase

#: Seconds that the cluster may take to answer.
PATIENCE_S: Final = 3.0
#: `HaiSchedulerSilent`: no tick has succeeded for this time.
_SILENT: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmView:
    """An alarm in force. Its name is that of the alert of Prometheus with the same condition, and of its runbook."""

    name: str
    severity: Literal["critical", "warning", "info"]
    summary: str
    detail: str
    #: The node group that it is about, and how many of its nodes; None: it is about no node group.
    group: str | None = None
    count: int | None = None

    @property
    def runbook(self) -> str:
        """The page that says what to do, from the root of the documentation."""
        return f"runbooks/{self.name}.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailedHealth:
    """The health of the platform. None stands for what cannot be known now."""

    told: WellBeing
    loop: LoopStatus | None
    lease: Lease | None
    paused: bool
    #: None: the database does not answer.
    database: DatabaseFacts | None
    #: Seconds that the database took for an answer.
    database_seconds: float | None
    #: Nodes by state: free, held, lost, closed, crowded, orphan, or the mark of an admin or of the scheduler.
    nodes: Mapping[str, int]
    #: Seconds that the cluster took to name its nodes; None: it did not answer in time.
    cluster_seconds: float | None
    versions: Mapping[str, str | None]
    alarms: Sequence[AlarmView]
    #: Numbers that several users have, with these users.
    doubled: Sequence[tuple[int, Sequence[str]]] = ()


@dataclass(slots=True, eq=False)
class PlatformDetails(UseCase):
    """The use case."""

    health: Health
    queries: Queries

    async def look(self, caller: Caller) -> DetailedHealth:
        """The present health, measured now. Raises Forbidden; what does not answer is named in the answer."""
        admins_only(caller)
        told = await self.health.look()
        began = self.clock.steady()
        lease, paused, facts, seconds = None, False, None, None
        nodes: Sequence[NodeView] = ()
        try:
            async with self.store.read() as tx:
                lease, facts = await tx.lease.get(), await tx.database.facts()
                paused = await tx.settings.get("paused") is not None
            seconds = self.clock.steady() - began
            nodes = await self.queries.nodes()
        except Temporary:
            pass  # `database` None says it
        loop = self.health.news.status
        states = Counter(map(state_of, nodes))
        return DetailedHealth(
            told=told,
            loop=loop,
            lease=lease,
            paused=paused,
            database=facts,
            database_seconds=seconds,
            nodes=dict(sorted(states.items())),
            cluster_seconds=await self._ask_cluster(),
            versions=await self.world.versions(),
            alarms=alarms(told, loop, nodes),
            doubled=await self._doubled(),
        )

    async def _doubled(self) -> Sequence[tuple[int, Sequence[str]]]:
        """Numbers that several users have whom the service has seen: a directory has many more accounts."""
        if self.world.identities is None:
            return ()
        try:
            found = await self.world.identities.doubled()
            async with self.store.read() as tx:
                seen = {user.name for user in await tx.users.all()}
        except Temporary:
            return ()  # who submits is told so
        known = ((uid, [name for name in names if name in seen]) for uid, names in found)
        return [(uid, names) for uid, names in known if len(names) > 1]

    async def _ask_cluster(self) -> float | None:
        began = self.clock.steady()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self.cluster.nodes()
        except (Temporary, TimeoutError):
            return None
        return self.clock.steady() - began


def state_of(view: NodeView) -> str:
    """The state of a node as one word, so that the counts of all states add up to the number of nodes."""
    if not view.node.ready:
        return "lost"
    if view.holders:
        return "held"
    if view.node.orphan is not None:
        return "orphan"
    if view.node.mark is not NodeMark.NONE:
        return view.node.mark.value
    if view.node.closed:
        return "closed"
    return "crowded" if view.node.taken else "free"


def alarms(told: WellBeing, loop: LoopStatus | None, nodes: Sequence[NodeView]) -> list[AlarmView]:
    """The alarms in force, the gravest first.

    They are the alerts of Prometheus whose condition one look can check, with the same limits and without their
    waiting time. Alerts on rates over hours need Prometheus.
    """
    found = []
    if told.silence is None or told.silence > _SILENT:
        since = "never" if told.silence is None else f"{told.silence.total_seconds():.0f} s ago"
        found.append(
            AlarmView(
                name="HaiSchedulerSilent",
                severity="critical",
                summary="The scheduler decides nothing",
                detail=f"The last tick that succeeded was {since}. Running tasks go on; no task starts.",
            )
        )
    found += [
        AlarmView(name="HaiEffectsFail", severity="warning", summary="The scheduling loop has a problem", detail=detail)
        for detail in _troubles(loop)
    ]
    lost = Counter(view.node.group for view in nodes if not view.node.ready)
    quarantined = Counter(view.node.group for view in nodes if view.node.mark is NodeMark.QUARANTINED)
    found += [
        AlarmView(
            name="HaiNodesLost",
            severity="warning",
            summary="Nodes do not answer",
            detail=f"Nodes of group {group}: {count}; their tasks go on elsewhere.",
            group=group,
            count=count,
        )
        for group, count in sorted(lost.items())
    ]
    found += [
        AlarmView(
            name="HaiNodesQuarantined",
            severity="warning",
            summary="Nodes are in quarantine, because runs kept failing there",
            detail=f"Nodes of group {group}: {count}; they get no new runs until an admin has looked at them.",
            group=group,
            count=count,
        )
        for group, count in sorted(quarantined.items())
    ]
    return found


def _troubles(loop: LoopStatus | None) -> list[str]:
    """What hinders the loop, a sentence for each kind."""
    if loop is None:
        return []
    found = []
    if loop.blind:
        found.append("The loop cannot see the nodes of the cluster.")
    if loop.trouble is not None:
        found.append(f"Decisions cannot be carried out: {loop.trouble}")
    if loop.policy_trouble is not None:
        found.append(f"Policy numbers of admins are not used: {loop.policy_trouble}")
    return found
