"""The process of the role `loop`: builds what decides and acts, and runs it. It imports no handler of requests."""

from __future__ import annotations

import asyncio
import os
import secrets
from dataclasses import dataclass

from hai_scheduler.app.config import Settings
from hai_scheduler.app.loop_server import listen
from hai_scheduler.app.opening import Adapters
from hai_scheduler.app.starting import WaitingRoom
from hai_scheduler.app.state_lock import take
from hai_scheduler.app.world import SharedViews, code_of, end_tasks, health_of, opened
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.accounting.capacity import CapacityNotes
from hai_scheduler.service.accounting.containers import ContainerBooks
from hai_scheduler.service.accounting.standings import BudgetCount
from hai_scheduler.service.launch.effects import Effects
from hai_scheduler.service.launch.launch_orders import LaunchOrders
from hai_scheduler.service.launch.launching import Launching
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.logs.failures import Failures
from hai_scheduler.service.notifying.notifier import Notifier
from hai_scheduler.service.notifying.routing import Routing
from hai_scheduler.service.notifying.sending import Sending
from hai_scheduler.service.origin.belonging import Belonging
from hai_scheduler.service.platform.health import Health
from hai_scheduler.service.platform.leadership import Leadership
from hai_scheduler.service.platform.loop_status import StatusWriter
from hai_scheduler.service.platform.readiness import Readiness
from hai_scheduler.service.scheduling.cycle import Cycle
from hai_scheduler.service.scheduling.housekeeping import Housekeeping
from hai_scheduler.service.scheduling.ledger_keeping import LedgerKeeping
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.tallies.writer import TallyWriter
from hai_scheduler.service.workspace.code_snapshots import CodeSnapshots
from hai_scheduler.service.workspace.pin_references import PinReferences
from hai_scheduler.service.workspace.pinning import Pinning
from hai_scheduler.service.workspace.rank_env import RankLocations
from hai_scheduler.service.workspace.runtime_env import RuntimeEnvs


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopParts:
    """The use cases of the process of role `loop`, which decides and acts."""

    cycle: Cycle
    housekeeping: Housekeeping
    references: PinReferences
    code: CodeSnapshots
    notifier: Notifier
    readiness: Readiness
    health: Health


def assemble_loop(
    adapters: Adapters,
    settings: ServiceSettings,
    *,
    tokens: RunTokens,
    locations: RankLocations,
    holder: str,
    predecessor: str | None = None,
    views: SharedViews | None = None,
) -> LoopParts:
    """Build the use cases that decide and act on the cluster. Nothing is started.

    Args:
        adapters: The adapters.
        settings: Numbers of the service.
        tokens: Makes and checks the tokens of runs.
        locations: The API's address and the folder of checkpoints, as ranks see them.
        holder: The name under which this loop asks for the leader lease; no other process has the same name.
        predecessor: The name of a loop that is known to be dead: its lease no longer counts.
        views: The view of the latest tick and the policy numbers; None: new ones.
    """
    store, bus, clock = adapters.store, adapters.bus, adapters.clock
    leadership = Leadership(
        store=store, clock=clock, holder=holder, length=settings.lease_length, predecessor=predecessor
    )
    views = views or SharedViews.of(settings)
    latest_plan, policy_store = views.latest_plan, views.policy_store
    latest_plan.sure = lambda: leadership.sure
    code = code_of(adapters, policy_store)
    effects = Effects(
        store=store,
        cluster=adapters.cluster,
        bus=bus,
        clock=clock,
        orders=LaunchOrders(
            store=store,
            tokens=tokens,
            locations=locations,
            policies=policy_store,
            runtime_envs=RuntimeEnvs(store=store, pinning=Pinning(haienvs=adapters.haienvs, builder=settings.builder)),
            code=code,
        ),
        policies=policy_store,
    )
    return LoopParts(
        cycle=Cycle(
            store=store,
            cluster=adapters.cluster,
            bus=bus,
            clock=clock,
            effects=effects,
            launching=Launching(
                effects=effects, clock=clock, leads=lambda: latest_plan.leads, ranks_at_once=settings.starts_at_once
            ),
            settings=settings,
            policies=policy_store,
            latest_plan=latest_plan,
            leadership=leadership,
            belonging=Belonging(cluster=adapters.cluster),
            telling=StatusWriter(store=store, clock=clock, latest_plan=latest_plan, leadership=leadership),
            tallies=TallyWriter(clock=clock, own=adapters.timings.tallies, allowed=settings.labels.groups),
        ),
        housekeeping=Housekeeping(
            store=store,
            cluster=adapters.cluster,
            clock=clock,
            settings=settings,
            policies=policy_store,
            latest_plan=latest_plan,
            capacity=CapacityNotes(store=store, clock=clock, latest_plan=latest_plan),
            budgets=BudgetCount(store=store, bus=bus, clock=clock),
            ledger=LedgerKeeping(store=store, clock=clock),
            containers=ContainerBooks(store=store, clock=clock),
        ),
        references=PinReferences(store=store, clock=clock, haienvs=adapters.haienvs),
        code=code,
        notifier=Notifier(
            store=store,
            bus=bus,
            clock=clock,
            routing=Routing(store=store, clock=clock, failures=Failures(cluster=adapters.cluster)),
            sending=Sending(store=store, bus=bus, clock=clock, messengers=adapters.messengers),
        ),
        readiness=Readiness(
            store=store,
            clock=clock,
            latest_plan=latest_plan,
            holder=holder,
            # A standby replica makes no ticks: it is ready without one.
            looked=lambda: latest_plan.last_tick is not None or not latest_plan.leading,
        ),
        health=health_of(adapters, settings, latest_plan),
    )


async def serve_loop(settings: Settings, secret: Secret, stop: asyncio.Event, *, alone: bool) -> None:
    """Run the scheduling loop until it is told to stop. `alone`: no other replica may run beside it."""
    holder = f"{os.uname().nodename}:{os.getpid()}:{secrets.token_hex(4)}"
    lock = await take(settings.state_dir, holder, alone=alone, stop=stop)
    room = WaitingRoom(address=settings.health_ip, port=settings.health_port, setting="health-port", root="")
    async with opened(settings, secret, lock, room, stop) as world:
        if world is not None:
            parts = assemble_loop(
                world.adapters,
                settings.service,
                tokens=RunTokens(secret),
                locations=world.locations,
                holder=holder,
                predecessor=None if lock is None else lock.predecessor,
            )
            await _run_loop(parts, settings, stop)


async def _run_loop(parts: LoopParts, settings: Settings, stop: asyncio.Event) -> None:
    server = listen(parts.readiness, parts.health, address=settings.health_ip, port=settings.health_port)
    scheduling = asyncio.create_task(parts.cycle.run())
    sweeping = asyncio.create_task(parts.housekeeping.run())
    holding = asyncio.create_task(parts.references.run(parts.housekeeping.leads))
    clearing = asyncio.create_task(parts.code.run(parts.housekeeping.leads))
    telling = asyncio.create_task(parts.notifier.run(parts.housekeeping.leads))
    reading = asyncio.create_task(parts.health.news.run())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({scheduling, stopping}, return_when=asyncio.FIRST_COMPLETED)
        await parts.cycle.stop()
        await scheduling
    finally:
        await end_tasks(sweeping, holding, clearing, telling, reading, stopping, scheduling)
        server.stop()
        await server.close_all_connections()
