"""Who a task is: refused at its submission, kept over its runs, and told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.adapters.identities.claimed import ClaimedIdentities
from hai_scheduler.adapters.identities.settings import IdentitySettings
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.workspace.identity import Identity, UnixGroup
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.values import AuditFilter
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service, user

HUB = Caller(name="hai", kind="service")
ADA = Identity(name="ada", uid=20017, groups=(UnixGroup(gid=20017), UnixGroup(gid=3100, name="cv")))


async def a_service() -> Service:
    """A service whose users' numbers come from their logins."""
    service = Service()
    service.identities = ClaimedIdentities(IdentitySettings(source="claims"), service.store)
    service.restart()
    return await service.open()


async def told(service: Service, identity: Identity) -> None:
    """What the Hub does at a login."""
    await service.platform.workspace.identities.write(HUB, identity)


async def test_a_task_is_its_user_in_every_run() -> None:
    service = await a_service()
    launches: list[LaunchOrder] = []
    launch = service.cluster.launch

    async def watched(order: LaunchOrder) -> None:
        launches.append(order)
        await launch(order)

    service.cluster.launch = watched  # type: ignore[method-assign]
    await told(service, ADA)
    task = await service.submit("t", "ada", does=Behaviour(work=timedelta(hours=1)))
    await service.step()
    await service.platform.tasks.submissions.suspend(user("ada"), str(task))
    await service.step(60)
    await service.platform.tasks.submissions.resume(user("ada"), str(task))
    await service.step(1)
    assert [(order.run_id, order.identity) for order in launches] == [(f"{task}.1", ADA), (f"{task}.2", ADA)]
    async with service.store.read() as tx:
        assert (await tx.tasks.get_spec(task)).uid == 20017


@pytest.mark.parametrize(
    ("identity", "words"),
    [(None, "no login has told a number"), (replace(ADA, uid=0), "is root's"), (replace(ADA, uid=7), "below 1000")],
    ids=["none", "root", "system"],
)
async def test_who_may_be_nobody_submits_nothing_and_is_told_why(identity: Identity | None, words: str) -> None:
    service = await a_service()
    if identity is not None:
        await told(service, identity)
    with pytest.raises(Invalid, match=words) as caught:
        await service.submit("t", "ada")
    assert (caught.value.field, caught.value.value) == ("user", "ada")
    async with service.store.read() as tx:
        assert list(await tx.tasks.unfinished()) == []
    answer = await service.platform.workspace.identities.of("ada")
    assert answer.identity is None
    assert words in answer.why


async def test_another_number_than_at_the_submission_starts_nothing_and_is_told_with_both() -> None:
    service = await a_service()
    await told(service, ADA)
    task = await service.submit("t", "ada")
    await told(service, replace(ADA, uid=20099))
    await service.step(ticks=1)
    assert (await service.task(task)).failed_starts == 1
    async with service.store.read() as tx:
        said = [event.data for event in await tx.events.page(after=0, limit=1000, task_id=task)]
    assert "uid 20017" in str(said)
    assert "uid 20099" in str(said)
    await told(service, ADA)
    await service.step(3600)
    assert (await service.task(task)).state is TaskState.RUNNING


async def test_other_groups_than_at_the_submission_are_no_other_user() -> None:
    service = await a_service()
    await told(service, ADA)
    task = await service.submit("t", "ada")
    await told(service, replace(ADA, groups=ADA.groups[:1]))
    await service.step()
    assert (await service.task(task)).failed_starts == 0


async def test_each_change_is_in_the_audit_once() -> None:
    """A login tells the same each time."""
    service = await a_service()
    for uid in (20017, 20017, 20099, 20099):
        await told(service, replace(ADA, uid=uid))
    for _ in range(2):
        await service.platform.workspace.identities.remove(HUB, "ada")
    async with service.store.read() as tx:
        assert await tx.users.identities() == {}
        entries = await tx.audit.page(AuditFilter(), before=None, limit=10)
    changes = [(one.action, (one.before or {}).get("uid"), (one.after or {}).get("uid")) for one in entries]
    assert sorted(changes, key=str) == [
        ("identity.deleted", 20099, None), ("identity.put", 20017, 20099), ("identity.put", None, 20017),
    ]  # fmt: skip
    assert {one.subject for one in entries} == {"user:ada"}


async def test_without_accounts_of_users_nothing_is_kept_of_any() -> None:
    service = await Service().open()
    task = await service.submit("t", "ada")
    await service.step()
    async with service.store.read() as tx:
        assert (await tx.tasks.get_spec(task)).uid is None
    assert (await service.platform.workspace.identities.of("ada")).why == ""


@pytest.mark.parametrize(
    ("owner", "gids"), [("groups/cv", [100, 3100]), ("groups/nlp", [100]), ("base", [100]), ("users/cv", [100])]
)
async def test_a_build_for_a_group_has_that_group_and_no_other_of_who_asks(owner: str, gids: list[int]) -> None:
    service = await a_service()
    found = await service.platform.workspace.identities.of_builds("1001", owner, ADA)
    assert found is not None
    assert (found.uid, [group.gid for group in found.groups]) == (1001, gids)
