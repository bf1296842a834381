"""Lists environments that are images for users, and writes and deletes them for admins, with an audit trail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.workspace.environments import Environment, admitted, default_of, usable
from hai_scheduler.core.workspace.templates import Wrong
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.shared.auditing import audit
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.errors import Invalid, NotFound
from hai_scheduler.service.shared.known_names import stranger
from hai_scheduler.service.shared.topics import FEED
from hai_scheduler.service.shared.versions import ANY, Expectation
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.workspace.rank_env import check_variables


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An environment, and whether it is the caller's default."""

    environment: Environment
    chosen: bool


class ImageEnvironments(UseCase):
    """The use cases of environments that are images. Those of haienv are folders: `catalogue` shows both."""

    async def show(self, caller: Caller, *, everybodys: bool = False) -> Sequence[Listed]:
        """The environments that the caller may use or, with `everybodys`, all; sorted by name. Raises Forbidden."""
        if everybodys:
            admins_only(caller)
        async with self.store.read() as tx:
            known = await tx.environments.all()
            groups = caller.groups or next(
                (one.groups for one in await tx.users.all() if one.name == caller.name), frozenset()
            )
        chosen = default_of(known, caller.name, groups)
        shown = known if everybodys else usable(known, caller.name, groups)
        return [Listed(environment=one, chosen=one == chosen) for one in shown]

    async def put(
        self, caller: Caller, environment: Environment, *, expected: Expectation = ANY
    ) -> tuple[Listed, Sequence[str]]:
        """Write a whole environment. It counts from the next launch on; live runs keep theirs.

        Returns:
            The environment, and warnings about subjects that are unknown and probably misspelt.

        Raises:
            Forbidden: The caller is not an admin.
            Invalid: The environment is wrong.
            Overtaken: The environment is not the expected one.
        """
        admins_only(caller)
        check_variables(environment.variables)
        async with self.store.write() as tx:
            known = {one.name: one for one in await tx.environments.all()}
            before = known.get(environment.name)
            expected.check(f"The image {environment.name!r}", before)
            try:
                environment = admitted(environment, known.values())
            except Wrong as error:
                raise Invalid(error.field, error.value, error.message) from None
            await tx.environments.put(environment)
            was, is_, now = None if before is None else _facts(before), _facts(environment), self.clock.now()
            subject = f"environment:{environment.name}"
            await audit(tx, caller, AdminAction.ENVIRONMENT_PUT, subject, at=now, before=was, after=is_)
            data = {**is_, "before": was}
            await tx.events.add(HistoryEvent(at=now, kind=EventKind.ENVIRONMENT_PUT, actor=caller.name, data=data))
            users = await tx.users.all()
        await self.bus.ring(FEED)
        found = (stranger(subject, users) for subject in sorted(environment.subjects))
        chosen = default_of({**known, environment.name: environment}.values(), caller.name, caller.groups)
        listed = Listed(environment=environment, chosen=chosen == environment)
        return listed, [text for text in found if text is not None]

    async def delete(self, caller: Caller, name: str, *, expected: Expectation = ANY) -> None:
        """Delete an environment; tasks that name it can no longer start. Raises Forbidden, NotFound, Overtaken."""
        admins_only(caller)
        async with self.store.write() as tx:
            before = next((one for one in await tx.environments.all() if one.name == name), None)
            if before is not None:
                expected.check(f"The image {name!r}", before)
                subject, was, now = f"environment:{name}", _facts(before), self.clock.now()
                await audit(tx, caller, AdminAction.ENVIRONMENT_DELETED, subject, at=now, before=was)
            if not await tx.environments.delete(name):
                raise NotFound(f"There is no environment {name!r}: `hai admin environments list` lists them.")
            await tx.events.add(
                HistoryEvent(
                    at=self.clock.now(), kind=EventKind.ENVIRONMENT_DELETED, actor=caller.name, data={"name": name}
                )
            )
        await self.bus.ring(FEED)


def _facts(environment: Environment) -> Mapping[str, Any]:
    """The fields of the environment for its events, without values of variables: these may be private."""
    return {
        "name": environment.name,
        "image": environment.image,
        "python": environment.python,
        "variables": sorted(environment.variables),
        "subjects": sorted(environment.subjects),
        "default": environment.default,
        "machine": environment.machine,
        "glibc": environment.glibc,
    }
