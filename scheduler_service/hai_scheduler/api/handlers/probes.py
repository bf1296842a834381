"""What Kubernetes and load balancers ask. Nobody in particular may ask, so no names are told."""

from __future__ import annotations

from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.probes import LiveOut, ReadyOut


async def live(ask: Ask[Nothing, Nothing]) -> LiveOut:  # noqa: ARG001 - every endpoint is called alike
    """That it answers is the answer."""
    return LiveOut()


async def ready(ask: Ask[Nothing, Nothing]) -> ReadyOut:
    """Whether requests should be sent here."""
    return ReadyOut(leader=await ask.services.readiness.leader())
