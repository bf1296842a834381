"""Builds of environments: each is an ordinary task of the user who asks, with a command of haienv.

So its queue, log, cancel, limits and audit are those of tasks. A base or group environment may be built as an account
of the platform's (`BuildSettings.account`), as users' own accounts have no right to write there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from hai_client.masking import masked
from hai_scheduler.core.workspace import builds
from hai_scheduler.core.workspace.builds import BuildVerb, EnvironmentBuild
from hai_scheduler.core.workspace.templates import Wrong
from hai_scheduler.ports.haienvs import HaienvFault, Haienvs, UnknownHaienv
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Conflict, Forbidden, Invalid, NotFound, QuotaExceeded, Unavailable
from hai_scheduler.service.shared.known_names import stranger
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.tasks.admission import Admitted
from hai_scheduler.service.tasks.submission import BuildSubmission
from hai_scheduler.service.tasks.submissions import Submissions

#: How many groups a message names.
MOST_NAMED: Final = 20


@dataclass(slots=True, eq=False)
class EnvironmentBuilds(UseCase):
    """The use cases of builds."""

    submissions: Submissions

    async def begin(
        self,
        caller: Caller,
        build: EnvironmentBuild,
        *,
        key: str | None = None,
        known: Collection[str] | None = None,
    ) -> Admitted:
        """Submit the task of a build.

        Args:
            caller: Who asks.
            build: What is to be built, with the full name of its environment.
            key: An idempotency key: a build that was asked for with it before is returned.
            known: The names of all user groups; None: the Hub does not say them.

        Raises:
            Invalid: A field is wrong.
            Forbidden: The caller has no right to build for that owner.
            NotFound: There is no such environment.
            Conflict: There is one already, or the caller has too many tasks.
            QuotaExceeded: The caller may never hold even the smallest size.
            Unavailable: No node has been seen yet.
        """
        _check_secrets(build)
        try:
            build = builds.checked(build)
        except Wrong as error:
            raise Invalid(error.field, error.value, error.message) from None
        if self.world.haienvs is None:
            raise Conflict("This platform has no folder of environments: an admin sets HaiScheduler.haienv_root.")
        if caller.kind != "user":
            raise Forbidden("Environments are built for users: ask with the token of a user, not of a service.")
        _check_groups(build, known)
        _check_right(caller, build.owner)
        await self._check_there(self.world.haienvs, caller, build)
        return await self._submit(caller, build, key)

    async def warnings(self, build: EnvironmentBuild, known: Collection[str] | None = None) -> list[str]:
        """Warnings about a build that was accepted nevertheless: its group may be written wrongly.

        Where the Hub does not say which groups there are, it is not refused: HAI sees a group with the first request of
        a member, and an admin may prepare for a group that has just been made.
        """
        level, _, group = build.owner.partition("/")
        if known is not None or level != "groups" or build.verb is not BuildVerb.CREATE:
            return []
        async with self.store.read() as tx:
            seen = await tx.users.all()
        unknown = stranger(f"group:{group}", seen)
        if unknown is None:
            return []
        others = sorted({one for user in seen for one in user.groups})
        names = f" Groups that it has seen: {', '.join(others[:MOST_NAMED])}." if others else ""
        return [f"name: {unknown}.{names}"]

    async def _check_there(self, haienvs: Haienvs, caller: Caller, build: EnvironmentBuild) -> None:
        """Check what can be known before the task starts; haienv checks it again."""
        if build.extend is not None:
            try:
                await haienvs.find(caller.name, caller.groups, build.extend)
            except HaienvFault as error:
                raise Invalid("extend", build.extend, str(error).removeprefix("environment: ")) from None
        # An admin may build for a group without being in it.
        group = build.owner.removeprefix("groups/")
        groups = {*caller.groups, group} if build.owner.startswith("groups/") else caller.groups
        try:
            await haienvs.find(caller.name, groups, build.environment)
        except UnknownHaienv as error:
            if build.verb is not BuildVerb.CREATE:
                raise NotFound(str(error)) from None
        except HaienvFault:
            # It is damaged, or closed to the user's own account: what builds it will say more.
            return
        else:
            if build.verb is BuildVerb.CREATE:
                raise Conflict(f"{build.environment} exists: install packages into it, or choose another name.")

    async def _submit(self, caller: Caller, build: EnvironmentBuild, key: str | None) -> Admitted:
        places = builds.places(self.latest_plan.nodes, self.settings.builder.group)
        if not places:
            raise Unavailable("The scheduler has not seen the nodes yet: try again in a few seconds.")
        refused: QuotaExceeded | None = None
        for group, gpus in places:
            try:
                return await self.submissions.admit(caller, _submission(caller, build, group, gpus), key=key)
            except QuotaExceeded as error:
                # The quota of another group may have room for it.
                refused = refused or error
        assert refused is not None
        raise refused


def _check_secrets(build: EnvironmentBuild) -> None:
    """Raise Invalid for a requirement with a secret, which the error does not repeat."""
    for one in build.requirements:
        if masked(one) != one:
            raise Invalid(
                "requirements",
                None,
                "the address of one has a user's name, a password or a token in it, which tasks, files and logs would"
                " show: put them into ~/.netrc of the account that builds",
            )


def _check_groups(build: EnvironmentBuild, known: Collection[str] | None) -> None:
    """Raise Invalid for a group that does not exist."""
    if known is None:
        return
    level, _, group = build.owner.partition("/")
    if level == "groups" and build.verb is BuildVerb.CREATE and group not in known:
        raise Invalid("name", build.environment, f"there is no group {group!r}: {_choice(known)}")
    if build.verb is BuildVerb.SHARE:
        for one in build.groups:
            if one not in known:
                raise Invalid("groups", one, f"there is no group {one!r}: {_choice(known)}")


def _choice(known: Collection[str]) -> str:
    """Return the groups that there are, as a remedy."""
    if not known:
        return "the Hub has no groups yet, and an admin makes them there"
    names = sorted(known)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"choose one of {', '.join(names[:MOST_NAMED])}{more}"


def owners_of(caller: Caller) -> Sequence[str]:
    """Return the owners whose environments the caller may have built: `users/ann`, `groups/cv`, `base`."""
    found = [f"users/{caller.name}", *(f"groups/{group}" for group in sorted(caller.groups)), builds.BASE]
    return [owner for owner in found if _refusal(caller, owner) is None]


def _refusal(caller: Caller, owner: str) -> str | None:
    if caller.kind != "user":
        return "services build nothing"
    return builds.refusal(
        owner, user=caller.name, groups=caller.groups, builds_for=caller.builds_for, admin=caller.admin
    )


def _check_right(caller: Caller, owner: str) -> None:
    why = _refusal(caller, owner)
    if why is not None:
        raise Forbidden(f"name: {why}.")


def _submission(caller: Caller, build: EnvironmentBuild, group: str, gpus: int | None) -> BuildSubmission:
    member = build.owner.removeprefix("groups/") in caller.groups
    return BuildSubmission(
        name=build.task_name,
        command=build.command(),
        cwd="/",
        gpus=gpus,
        group=group,
        tags=(builds.TAG, build.environment),
        build=build.mark(admin=build.owner.startswith("groups/") and not member),
    )
