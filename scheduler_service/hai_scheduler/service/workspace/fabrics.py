"""Lists, tries, writes and deletes fabrics for admins. Each change is in the audit trail."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.workspace.fabrics import Fabric, NoFabric, admitted, doubts, fabric_of, lacking
from hai_scheduler.core.workspace.templates import Wrong
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.shared.auditing import audit
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.errors import Invalid, NotFound
from hai_scheduler.service.shared.known_names import check_group, stranger
from hai_scheduler.service.shared.topics import FEED
from hai_scheduler.service.shared.versions import ANY, Expectation
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.workspace.fabric_trials import FabricTrials
from hai_scheduler.service.workspace.rank_env import DEVICE_VARIABLES, check_variables
from hai_scheduler.store.codec import fields_codec
from hai_scheduler.store.transaction import Tx

#: How many characters of an annotation events have.
_SHOWN: Final = 200


@dataclass(slots=True, eq=False)
class Fabrics(UseCase):
    """The use cases of fabrics."""

    trials: FabricTrials

    async def show_all(self, caller: Caller) -> Sequence[Fabric]:
        """All fabrics, sorted by node group and subject. Raises Forbidden."""
        admins_only(caller)
        async with self.store.read() as tx:
            return await tx.fabrics.all()

    async def of_user(self, caller: Caller, user: str, group: str) -> Fabric:
        """The fabric that counts for a user in a node group. Raises Forbidden, NotFound if there is none."""
        admins_only(caller)
        async with self.store.read() as tx:
            fabrics, groups = await tx.fabrics.all(), await groups_of(tx, user)
        found = fabric_of(fabrics, group, user, groups)
        if found is not None:
            return found
        others = ", ".join(one.subject for one in fabrics if one.group == group)
        there = f"there it is for {others} alone" if others else "there is none there"
        raise NotFound(
            f"user: {user!r} has no fabric in {group}, as {there}: write one with `hai admin fabrics put {group} --for "
            f"user:{user}`."
        )

    async def try_out(self, caller: Caller, fabric: Fabric) -> Sequence[str]:
        """Do all that `put` does but writing; returns warnings. Raises the same."""
        admins_only(caller)
        _check(fabric)
        check_group(self.latest_plan, fabric.group)
        return [*doubts(fabric), *await self.trials.ask(fabric)]

    async def put(self, caller: Caller, fabric: Fabric, *, expected: Expectation = ANY) -> tuple[Fabric, Sequence[str]]:
        """Write a whole fabric, after a trial. It counts from the next launch on; live runs keep theirs.

        Returns:
            The fabric as it is stored, and warnings.

        Raises:
            Forbidden: The caller is not an admin.
            Invalid: The fabric is wrong, or the cluster would start no run with it.
            Conflict: Another admin tries a fabric at the same time.
            Unavailable: The cluster cannot try it now.
            Overtaken: The fabric is not the expected one.
        """
        warnings = await self.try_out(caller, fabric)
        async with self.store.write() as tx:
            before = await _there(tx, fabric.group, fabric.subject)
            expected.check(f"The fabric of {fabric.subject} in {fabric.group}", before)
            await tx.fabrics.put(fabric)
            was, is_, now = None if before is None else _facts(before), _facts(fabric), self.clock.now()
            await audit(tx, caller, AdminAction.FABRIC_PUT, _subject(fabric), at=now, before=was, after=is_)
            data = {**is_, "before": was}
            await tx.events.add(HistoryEvent(at=now, kind=EventKind.FABRIC_PUT, actor=caller.name, data=data))
            unknown = stranger(fabric.subject, await tx.users.all())
        await self.bus.ring(FEED)
        return fabric, [*warnings, *([] if unknown is None else [unknown])]

    async def delete(self, caller: Caller, group: str, subject: str, *, expected: Expectation = ANY) -> None:
        """Delete a fabric. Raises Forbidden, NotFound if there is none, and Overtaken."""
        admins_only(caller)
        async with self.store.write() as tx:
            before = await _there(tx, group, subject)
            if before is None:
                raise NotFound(f"There is no fabric of {subject} in {group}: `hai admin fabrics list` lists them.")
            expected.check(f"The fabric of {subject} in {group}", before)
            now, was = self.clock.now(), _facts(before)
            await audit(tx, caller, AdminAction.FABRIC_DELETED, _subject(before), at=now, before=was)
            await tx.fabrics.delete(group, subject)
            data = {"group": group, "subject": subject}
            await tx.events.add(HistoryEvent(at=now, kind=EventKind.FABRIC_DELETED, actor=caller.name, data=data))
        await self.bus.ring(FEED)

    async def lacking(
        self, user: str, groups: Collection[str], group: str, *, nodes: int, whole: bool
    ) -> NoFabric | None:
        """Why a run would have no fabric where others have one. Without groups those that were last seen count."""
        if nodes == 1:
            return None
        async with self.store.read() as tx:
            fabrics = await tx.fabrics.all()
            known = groups or (await groups_of(tx, user) if fabrics else ())
        return lacking(fabrics, group, user, known, nodes=nodes, whole=whole)


async def groups_of(tx: Tx, user: str) -> frozenset[str]:
    """Return the groups that the service last saw of a user."""
    return next((one.groups for one in await tx.users.all() if one.name == user), frozenset())


async def _there(tx: Tx, group: str, subject: str) -> Fabric | None:
    return next((one for one in await tx.fabrics.all() if (one.group, one.subject) == (group, subject)), None)


def _check(fabric: Fabric) -> None:
    try:
        admitted(fabric)
    except Wrong as error:
        raise Invalid(error.field, error.value, error.message) from None
    check_variables(fabric.variables)
    for name in fabric.variables:
        if name.startswith("HAI_") or name in DEVICE_VARIABLES:
            raise Invalid(f"variables.{name}", None, "is set by the platform for every rank: leave it out")


def _subject(fabric: Fabric) -> str:
    return f"fabric:{fabric.group}/{fabric.subject}"


def _facts(fabric: Fabric) -> Mapping[str, Any]:
    """All fields of the fabric, for its events: of variables their names alone, of annotations how they begin."""
    annotations = {key: value[:_SHOWN] for key, value in sorted(fabric.annotations.items())}
    facts = {"variables": sorted(fabric.variables), "annotations": annotations}
    return {**fields_codec(Fabric).write(fabric), **facts}
