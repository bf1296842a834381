"""Converts users, quota, entries of the audit and the health of the platform into models of the wire."""

from __future__ import annotations

from datetime import datetime

from hai_scheduler.api.wire.audit import AuditPage
from hai_scheduler.api.wire.people import ArchiveOut, UserDetail, UserList, UserOut
from hai_scheduler.api.wire.platform import (
    ClusterHealth,
    DatabaseHealth,
    DoubledUidOut,
    PlatformHealth,
    SchedulerHealth,
)
from hai_scheduler.api.wire.quota import OwnQuota, QuotaOut, UserQuota
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.service.insight.audit import AuditView
from hai_scheduler.service.insight.people import UserPage, UserQuotaView, UserStory, UserView
from hai_scheduler.service.insight.platform_details import DetailedHealth
from hai_scheduler.service.insight.quota_views import QuotaView
from hai_scheduler.service.people.archiving import ArchiveResult
from hai_scheduler.service.shared.quota_rows import expired
from hai_scheduler.service.shared.versions import version_of


def quota_out(quota: Quota, now: datetime, *, warning: str | None = None) -> QuotaOut:
    """Return the model of a row of quota."""
    return QuotaOut.of(quota, expired=expired(quota, now), version=version_of(quota), warning=warning)


def own_quota_out(view: QuotaView) -> OwnQuota:
    """Return the model of what a user may hold and holds at a level."""
    return OwnQuota.of(view, used=round(view.used, 6))


def user_out(view: UserView) -> UserOut:
    """Return the model of a user."""
    return UserOut.of(
        view,
        running_tasks=sum(level.running_tasks for level in view.levels),
        waiting_tasks=sum(level.waiting_tasks for level in view.levels),
        waiting_nodes=sum(level.waiting_nodes for level in view.levels),
        quota=[_quota(one) for one in view.quota],
    )


def user_list(page: UserPage) -> UserList:
    """Return the model of a page of users."""
    return UserList(items=[user_out(view) for view in page.items], total=page.total, next_cursor=page.cursor)


def user_detail(story: UserStory, now: datetime) -> UserDetail:
    """Return the model of one user."""
    return UserDetail.of(
        story,
        **dict(user_out(story.view)),
        rows=[quota_out(row, now) for row in story.rows],
    )


def archive_out(result: ArchiveResult) -> ArchiveOut:
    """Return the model of a user who is archived now."""
    return ArchiveOut.of(result.user, stopped=result.stopped)


def audit_page(view: AuditView) -> AuditPage:
    """Return the model of a page of the audit."""
    return AuditPage.of(view, next_cursor=view.cursor)


def platform_health(found: DetailedHealth) -> PlatformHealth:
    """Return the model of the health of the platform."""
    told, loop, database = found.told, found.loop, found.database
    return PlatformHealth.of(
        found,
        status="ok"
        if told.wrong is None and database is not None and not found.alarms and not found.doubled
        else "degraded",
        scheduler=SchedulerHealth(
            deciding=told.deciding,
            detail=told.wrong,
            paused=found.paused,
            leader=None if found.lease is None else found.lease.holder,
            lease_until=None if found.lease is None else found.lease.expires_at,
            last_tick=None if loop is None else loop.last_tick,
            last_tick_s=None if told.silence is None else told.silence.total_seconds(),
            ticks=0 if loop is None else loop.ticks,
            tick_p50_s=0.0 if loop is None else loop.tick_p50,
            tick_p95_s=0.0 if loop is None else loop.tick_p95,
        ),
        database=DatabaseHealth(
            reachable=database is not None,
            kind=None if database is None else database.kind,
            answer_s=found.database_seconds,
            size=None if database is None else database.size,
            revision=None if database is None else database.revision,
        ),
        cluster=ClusterHealth(
            reachable=found.cluster_seconds is not None, answer_s=found.cluster_seconds, nodes=dict(found.nodes)
        ),
        doubled_uids=[DoubledUidOut(uid=uid, users=list(users)) for uid, users in found.doubled],
        versions={**found.versions, "loop": (loop.version or None) if loop is not None else None},
    )


def _quota(one: UserQuotaView) -> UserQuota:
    return UserQuota(
        **dict(own_quota_out(one.view)),
        own_limit=None if one.own is None else one.own.limit,
        own_version=None if one.own is None else version_of(one.own),
    )
