"""Endpoints on users, active ones too, the audit, and the health of the platform."""

from __future__ import annotations

from hai_scheduler.api.convert import people as convert
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.audit import AuditPage, AuditQuery
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.people import (
    ActiveUsersOut,
    ArchivedNamesOut,
    ArchiveOut,
    ArchiveRequest,
    PeopleQuery,
    UserDetail,
    UserList,
)
from hai_scheduler.api.wire.platform import PlatformHealth
from hai_scheduler.ports.values import AuditFilter
from hai_scheduler.service.insight.people import PeopleFilter, PeopleOrder, active_users


async def active(ask: Ask[Nothing, Nothing]) -> ActiveUsersOut:
    """Return the names of users with live tasks, and nothing about the tasks."""
    return ActiveUsersOut(users=await active_users(ask.platform.world.store))


async def show_all(ask: Ask[PeopleQuery, Nothing]) -> UserList:
    """Return a page of users."""
    query = ask.query
    await ask.meet(None)
    where = PeopleFilter(name=query.name, group=query.group, archived=query.archived, order=PeopleOrder(query.order))
    page = await ask.platform.insight.people.page(ask.caller, where, cursor=query.cursor, limit=query.limit)
    return convert.user_list(page)


async def show(ask: Ask[Nothing, Nothing]) -> UserDetail:
    """Return one user."""
    await ask.meet([ask.path["user"]])
    story = await ask.platform.insight.people.one(ask.caller, ask.path["user"])
    return convert.user_detail(story, ask.platform.world.clock.now())


async def archive(ask: Ask[Nothing, ArchiveRequest | None]) -> ArchiveOut:
    """Archive a user."""
    note = "" if ask.body is None else ask.body.note
    await ask.meet([ask.path["user"]])
    return convert.archive_out(await ask.platform.people.archiving.archive(ask.caller, ask.path["user"], note))


async def restore(ask: Ask[Nothing, Nothing]) -> None:
    """Restore an archived user."""
    await ask.platform.people.archiving.restore(ask.caller, ask.path["user"])


async def archived(ask: Ask[Nothing, Nothing]) -> ArchivedNamesOut:
    """Return the names of archived users."""
    return ArchivedNamesOut(names=[user.name for user in await ask.platform.people.archiving.archived()])


async def audit(ask: Ask[AuditQuery, Nothing]) -> AuditPage:
    """Return a page of the audit."""
    query = ask.query
    where = AuditFilter(
        actor=query.who, action=query.action, subject=query.subject, since=query.since, until=query.until
    )
    page = await ask.platform.insight.audit.page(ask.caller, where, cursor=query.cursor, limit=query.limit)
    return convert.audit_page(page)


async def health(ask: Ask[Nothing, Nothing]) -> PlatformHealth:
    """Return the health of the platform."""
    return convert.platform_health(await ask.platform.insight.platform_details.look(ask.caller))
