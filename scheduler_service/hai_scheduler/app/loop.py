"""The process of the role `loop`: builds what decides and acts, and runs it. It imports no handler of requests."""

from __future__ import annotations

import asyncio
import os
import secrets
from dataclasses import replace

from hai_scheduler.app.config import Settings
from hai_scheduler.app.loop_server import listen
from hai_scheduler.app.starting import WaitingRoom
from hai_scheduler.app.state_lock import take
from hai_scheduler.app.world import end_tasks, opened
from hai_scheduler.ports.secret import Secret
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
from hai_scheduler.service.shared.world import World
from hai_scheduler.service.tallies.writer import TallyWriter
from hai_scheduler.service.workspace.room import WorkspaceRoom


class SchedulingLoop:
    """The use cases that decide, and act on the cluster."""

    def __init__(self, world: World, tokens: RunTokens, *, predecessor: str | None = None) -> None:
        """Build the use cases; nothing is started.

        Args:
            world: What they act on; `world.holder` is the name of this loop.
            tokens: Makes the tokens of runs.
            predecessor: The name of a loop that is known to be dead: its lease no longer counts.
        """
        workspace, leadership = WorkspaceRoom(world), Leadership(world, predecessor)
        world.latest_plan.sure = lambda: leadership.sure
        effects = Effects(
            world, LaunchOrders(world, tokens, workspace.runtime_envs, workspace.code, workspace.identities)
        )
        self.cycle = Cycle(
            world,
            effects=effects,
            launching=Launching(world, effects),
            leadership=leadership,
            belonging=Belonging(cluster=world.cluster),
            telling=StatusWriter(world, leadership),
            tallies=TallyWriter(world),
        )
        self.housekeeping = Housekeeping(world)
        self.references = workspace.references
        self.code = workspace.code
        self.fabric_trials = workspace.fabric_trials
        self.notifier = Notifier(world, Routing(world, Failures(world)), Sending(world))
        self.readiness = Readiness(world)
        self.health = Health(world)


async def serve_loop(settings: Settings, secret: Secret, stop: asyncio.Event, *, alone: bool) -> None:
    """Run the scheduling loop until it is told to stop. `alone`: no other replica may run beside it."""
    holder = f"{os.uname().nodename}:{os.getpid()}:{secrets.token_hex(4)}"
    lock = await take(settings.state_dir, holder, alone=alone, stop=stop)
    room = WaitingRoom(address=settings.health_ip, port=settings.health_port, setting="health-port", root="")
    async with opened(settings, secret, lock, room, stop) as world:
        if world is not None:
            predecessor = None if lock is None else lock.predecessor
            loop = SchedulingLoop(replace(world, holder=holder), RunTokens(secret), predecessor=predecessor)
            await _run_loop(loop, settings, stop)


async def _run_loop(loop: SchedulingLoop, settings: Settings, stop: asyncio.Event) -> None:
    server = listen(loop.readiness, loop.health, address=settings.health_ip, port=settings.health_port)
    scheduling = asyncio.create_task(loop.cycle.run())
    sweeping = asyncio.create_task(loop.housekeeping.run())
    holding = asyncio.create_task(loop.references.run(loop.housekeeping.leads))
    clearing = asyncio.create_task(loop.code.run(loop.housekeeping.leads))
    trying = asyncio.create_task(loop.fabric_trials.run(loop.housekeeping.leads))
    telling = asyncio.create_task(loop.notifier.run(loop.housekeeping.leads))
    reading = asyncio.create_task(loop.health.news.run())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({scheduling, stopping}, return_when=asyncio.FIRST_COMPLETED)
        await loop.cycle.stop()
        await scheduling
    finally:
        await end_tasks(sweeping, holding, clearing, trying, telling, reading, stopping, scheduling)
        server.stop()
        await server.close_all_connections()
