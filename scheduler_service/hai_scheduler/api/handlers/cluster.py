"""Endpoints on nodes, quota, and the cluster as a whole."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

from hai_scheduler.api.convert import cluster as cluster_convert
from hai_scheduler.api.convert.node_list import NodeLines
from hai_scheduler.api.convert.people import own_quota_out, quota_out
from hai_scheduler.api.server.encoded import Encoded
from hai_scheduler.api.server.preconditions import expectation, showing
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.cluster import (
    ClusterOut,
    MarkPreviewIn,
    MarkPreviewOut,
    NodeList,
    NodeListQuery,
    NodeOut,
    PauseRequest,
)
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.quota import OwnQuota, OwnQuotaPut, QuotaKey, QuotaList, QuotaOut, QuotaPut
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.quota import Quota


async def overview(ask: Ask[Nothing, Nothing]) -> ClusterOut | Encoded:
    """Return the cluster at a glance."""
    health, view = await ask.platform.health.look(), await ask.platform.insight.queries.whole_cluster()
    return ask.platform.shared_answers.of(
        "cluster", view, health.standstill, lambda: cluster_convert.cluster_out(view, health.standstill)
    )


async def pause(ask: Ask[Nothing, PauseRequest | None]) -> ClusterOut:
    """Pause the platform: tell every run to leave and start none."""
    seconds = ask.body.grace_s if ask.body is not None else None
    grace = None if seconds is None else timedelta(seconds=seconds)
    await ask.platform.administration.pause(ask.caller, grace=grace)
    return await _overview(ask)


async def resume(ask: Ask[Nothing, Nothing]) -> ClusterOut:
    """End the pause."""
    await ask.platform.administration.unpause(ask.caller)
    return await _overview(ask)


async def _overview(ask: Ask[Nothing, Any]) -> ClusterOut:
    health = await ask.platform.health.look()
    return cluster_convert.cluster_out(await ask.platform.insight.queries.whole_cluster(), health.standstill)


async def nodes(ask: Ask[NodeListQuery, Nothing]) -> NodeList | Encoded:
    """Return all nodes."""
    found = await ask.platform.insight.node_map.look(ask.caller, use=ask.query.use)
    return Encoded(ask.platform.shared_answers.kept(NodeLines).encode(found, ask.caller))


async def preview(ask: Ask[Nothing, MarkPreviewIn]) -> MarkPreviewOut:
    """Return what a mark on nodes would do."""
    return cluster_convert.preview_out(
        ask.caller.say, await ask.platform.insight.previews.mark(ask.caller, ask.body.nodes, NodeMark(ask.body.mark))
    )


async def cordon(ask: Ask[Nothing, Nothing]) -> NodeOut:
    """Cordon a node: it gets no new runs."""
    return await _mark(ask, NodeMark.CORDONED)


async def uncordon(ask: Ask[Nothing, Nothing]) -> NodeOut:
    """Let a node get new runs again."""
    return await _mark(ask, NodeMark.NONE)


async def drain(ask: Ask[Nothing, Nothing]) -> NodeOut:
    """Drain a node: it gets no new runs, and the runs on it are told to leave."""
    return await _mark(ask, NodeMark.DRAINING)


async def _mark(ask: Ask[Nothing, Nothing], mark: NodeMark) -> NodeOut:
    await ask.platform.administration.mark_node(ask.caller, ask.path["name"], mark)
    return cluster_convert.node_out(await ask.platform.insight.node_map.node(ask.caller, ask.path["name"]), ask.caller)


async def quotas(ask: Ask[Nothing, Nothing]) -> QuotaList:
    """Return the rows of quota that the caller may see."""
    rows, now = await ask.platform.insight.queries.quotas(ask.caller), ask.platform.world.clock.now()
    return QuotaList(items=[quota_out(row, now) for row in rows])


async def put_quota(ask: Ask[Nothing, QuotaPut]) -> QuotaOut:
    """Write a row of quota."""
    body = ask.body
    row = Quota(**dict(body) | {"expires_at": None if body.expires_at is None else body.expires_at.astimezone(UTC)})
    expected, now = expectation(ask.headers), ask.platform.world.clock.now()
    await ask.meet_subjects([row.subject])
    writing = ask.platform.administration.put_quota(ask.caller, row, expected=expected)
    warning = await showing(writing, lambda there: quota_out(there, now))
    return quota_out(row, now, warning=warning)


async def put_own_quota(ask: Ask[Nothing, OwnQuotaPut]) -> OwnQuota:
    """Raise or lower the caller's own quota."""
    body = ask.body
    await ask.platform.people.own_quotas.put(ask.caller, body.group, body.priority, body.limit)
    views = await ask.platform.insight.queries.own_quota(ask.caller)
    mine = next(view for view in views if (view.group, view.priority) == (body.group, body.priority))
    return own_quota_out(mine)


async def erase_user(ask: Ask[Nothing, Nothing]) -> None:
    """Take the name of a user out of the ledger."""
    await ask.platform.administration.erase_user(ask.caller, ask.path["user"])


async def delete_quota(ask: Ask[Nothing, QuotaKey]) -> None:
    """Remove a row of quota."""
    row = Quota(**dict(ask.body), limit=None)
    expected, now = expectation(ask.headers), ask.platform.world.clock.now()
    deleting = ask.platform.administration.delete_quota(ask.caller, row, expected=expected)
    await showing(deleting, lambda there: quota_out(there, now))
