"""Endpoints for probes of Kubernetes and load balancers. They need no token, so their answers hold no names."""

from __future__ import annotations

from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.probes import LiveOut, ReadyOut


async def live(ask: Ask[Nothing, Nothing]) -> LiveOut:  # noqa: ARG001 - every endpoint is called alike
    """Answer: the process is alive."""
    return LiveOut()


async def ready(ask: Ask[Nothing, Nothing]) -> ReadyOut:
    """Return which replica leads; an error says that no requests should be sent to this replica."""
    return ReadyOut(leader=await ask.platform.readiness.leader())
