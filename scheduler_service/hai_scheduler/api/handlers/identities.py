"""Endpoints with which the Hub writes who users' processes are."""

from __future__ import annotations

from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.identities import IdentityPut
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.core.workspace.identity import Identity, UnixGroup


async def put(ask: Ask[Nothing, IdentityPut]) -> None:
    """Write what the login of a user told."""
    body = ask.body
    identity = Identity(
        name=ask.path["user"],
        uid=body.uid,
        groups=tuple(UnixGroup(gid=group.gid, name=group.name) for group in body.groups),
        home=body.home.rstrip("/"),
        shell=body.shell or "/bin/sh",
    )
    await ask.platform.workspace.identities.write(ask.caller, identity)


async def delete(ask: Ask[Nothing, Nothing]) -> None:
    """Forget it: the latest login told nothing."""
    await ask.platform.workspace.identities.remove(ask.caller, ask.path["user"])
