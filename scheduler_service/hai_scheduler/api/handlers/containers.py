"""The endpoint to which the Hub tells which development containers there are."""

from __future__ import annotations

from datetime import datetime

from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.containers import ContainersTold, ContainerTold
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.core.ledger.development import DevelopmentContainer
from hai_scheduler.service.accounting.containers import EndedContainer


async def told(ask: Ask[Nothing, ContainersTold]) -> None:
    """Book what lives, and what has ended."""
    now = ask.platform.world.clock.now()
    living = [_container_of(each, now) for each in ask.body.living]
    ended = [EndedContainer(container=_container_of(each, now), ended_at=each.ended_at) for each in ask.body.ended]
    await ask.platform.accounting.containers.told(living, ended)


def _container_of(told: ContainerTold, now: datetime) -> DevelopmentContainer:
    return DevelopmentContainer(
        id=told.id,
        user=told.user,
        groups=tuple(sorted(set(told.groups))),
        node_group=told.node_group,
        gpus=told.gpus,
        millicores=round(told.cpus * 1000),
        started_at=told.started_at,
        seen_at=now,
    )
