"""Endpoints on fabrics."""

from __future__ import annotations

from collections.abc import Sequence

from hai_scheduler.api.server.preconditions import expectation, showing
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.fabrics import FabricKey, FabricList, FabricOut, FabricPut, FabricQuery, FabricTriedOut
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.core.workspace.fabrics import Fabric
from hai_scheduler.service.shared.versions import version_of


def fabric_out(fabric: Fabric, warnings: Sequence[str] = ()) -> FabricOut:
    """Return the model of a fabric."""
    return FabricOut.of(fabric, warnings=warnings, version=version_of(fabric))


async def show_all(ask: Ask[FabricQuery, Nothing]) -> FabricList:
    """Return all fabrics, or the one that counts for a user."""
    fabrics, query = ask.platform.workspace.fabrics, ask.query
    if query.user is None:
        return FabricList(items=[fabric_out(one) for one in await fabrics.show_all(ask.caller)])
    await ask.meet([query.user])
    return FabricList(items=[fabric_out(await fabrics.of_user(ask.caller, query.user, query.group))])


async def put(ask: Ask[Nothing, FabricPut]) -> FabricOut:
    """Try and write a fabric."""
    await ask.meet_subjects([ask.body.subject])
    fabrics, expected = ask.platform.workspace.fabrics, expectation(ask.headers)
    return fabric_out(*await showing(fabrics.put(ask.caller, Fabric(**dict(ask.body)), expected=expected), fabric_out))


async def try_out(ask: Ask[Nothing, FabricPut]) -> FabricTriedOut:
    """Try a fabric; nothing is written."""
    warnings = await ask.platform.workspace.fabrics.try_out(ask.caller, Fabric(**dict(ask.body)))
    return FabricTriedOut(warnings=list(warnings))


async def delete(ask: Ask[Nothing, FabricKey]) -> None:
    """Remove a fabric."""
    body, expected = ask.body, expectation(ask.headers)
    deleting = ask.platform.workspace.fabrics.delete(ask.caller, body.group, body.subject, expected=expected)
    await showing(deleting, fabric_out)
