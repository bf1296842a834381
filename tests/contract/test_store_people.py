"""Visits, archived users and the audit in every store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hai_scheduler.core.workspace.identity import Identity, UnixGroup
from hai_scheduler.ports.values import ArchivedUser, AuditEntry, AuditFilter, UserVisit
from hai_scheduler.store.store import Store
from kit.builders import T0

HOUR = timedelta(hours=1)
ENTRY = AuditEntry(
    at=T0,
    actor="root",
    action="quota.put",
    subject="user:ann",
    before=None,
    after={"limit": 4, "ceiling": None, "groups": ["cv"]},
    address="10.0.0.7",
)


async def test_the_latest_visit_of_a_user_is_kept(store: Store) -> None:
    first = UserVisit(name="Ärzte", seen_at=T0)
    async with store.write() as tx:
        await tx.users.put_visit(first)
        await tx.users.put_visit(UserVisit(name="b", seen_at=T0, admin_at=T0 - HOUR))
    later = replace(first, seen_at=T0 + HOUR, admin_at=T0 + HOUR)
    async with store.write() as tx:
        await tx.users.put_visit(later)
    async with store.write() as tx:
        # Without the right of admins: when they last had it stays.
        later = replace(later, seen_at=T0 + 2 * HOUR)
        await tx.users.put_visit(replace(later, admin_at=None))
    async with store.read() as tx:
        assert await tx.users.visits() == {
            "Ärzte": later,
            "b": UserVisit(name="b", seen_at=T0, admin_at=T0 - HOUR),
        }


async def test_what_logins_told_is_kept_until_they_tell_else(store: Store) -> None:
    groups = (UnixGroup(gid=20017), UnixGroup(gid=3100, name="Ärzte"))
    ann = Identity(name="ann", uid=2**31, groups=groups, home="/home/ann", shell="/bin/zsh")
    async with store.write() as tx:
        await tx.users.put_identity(ann)
        assert await tx.users.identities() == {"ann": ann}
    other = replace(ann, uid=0, groups=groups[:1])
    async with store.write() as tx:
        await tx.users.put_identity(other)
    async with store.read() as tx:
        assert await tx.users.identities() == {"ann": other}
    async with store.write() as tx:
        await tx.users.remove_identity("ann")
        await tx.users.remove_identity("nobody")
    async with store.read() as tx:
        assert await tx.users.identities() == {}


async def test_users_are_archived_and_restored(store: Store) -> None:
    ann = ArchivedUser(name="ann", at=T0, by="root", note="left the group")
    async with store.read() as tx:
        assert await tx.users.archived() == {}
    async with store.write() as tx:
        await tx.users.archive(ann)
        assert await tx.users.archived() == {"ann": ann}
    async with store.read() as tx:
        assert await tx.users.archived() == {"ann": ann}
    async with store.write() as tx:
        assert not await tx.users.restore("bob")
        assert await tx.users.restore("ann")
        assert not await tx.users.restore("ann")
    async with store.read() as tx:
        assert await tx.users.archived() == {}


async def test_entries_of_the_audit_come_back_newest_first_in_pages(store: Store) -> None:
    async with store.write() as tx:
        for hour in range(5):
            await tx.audit.add(replace(ENTRY, at=T0 + hour * HOUR, before={"hour": hour}))
    async with store.read() as tx:
        first = await tx.audit.page(AuditFilter(), before=None, limit=2)
        rest = await tx.audit.page(AuditFilter(), before=first[-1].number, limit=10)
    assert [one.before for one in (*first, *rest)] == [{"hour": hour} for hour in (4, 3, 2, 1, 0)]
    assert replace(rest[-1], number=0) == replace(ENTRY, before={"hour": 0})


async def test_the_audit_is_filtered_by_actor_action_subject_and_time(store: Store) -> None:
    async with store.write() as tx:
        for entry in (
            ENTRY,
            replace(ENTRY, actor="eve", subject="user:ann_b", action="quota.deleted"),
            replace(ENTRY, subject="node:node-3", action="node.drained", at=T0 + HOUR),
            replace(ENTRY, subject="nodes", action="quotas", after=None, address=None),
        ):
            await tx.audit.add(entry)

    async def subjects(**where: object) -> list[str]:
        async with store.read() as tx:
            return [one.subject for one in await tx.audit.page(AuditFilter(**where), before=None, limit=9)]  # type: ignore[arg-type]

    assert await subjects(actor="eve") == ["user:ann_b"]
    assert await subjects(action="quota") == ["user:ann_b", "user:ann"]
    assert await subjects(action="quota.put") == ["user:ann"]
    assert await subjects(subject="user:ann") == ["user:ann"]
    assert await subjects(subject="user") == ["user:ann_b", "user:ann"]
    assert await subjects(subject="us_r") == []
    assert await subjects(subject="%") == []
    assert await subjects(since=T0 + HOUR) == ["node:node-3"]
    assert await subjects(until=T0 + HOUR, action="quotas") == ["nodes"]
    assert await subjects(until=T0) == []


async def test_old_entries_of_the_audit_are_deleted_oldest_first(store: Store) -> None:
    async with store.write() as tx:
        for hour in range(4):
            await tx.audit.add(replace(ENTRY, at=T0 + hour * HOUR))
    async with store.write() as tx:
        assert await tx.audit.delete_before(T0 + 3 * HOUR, limit=2) == 2
    async with store.read() as tx:
        assert [one.at for one in await tx.audit.page(AuditFilter(), before=None, limit=9)] == [
            T0 + 3 * HOUR,
            T0 + 2 * HOUR,
        ]
    async with store.write() as tx:
        assert await tx.audit.delete_before(T0 + 3 * HOUR, limit=9) == 1
        assert await tx.audit.delete_before(T0 + 3 * HOUR, limit=9) == 0
