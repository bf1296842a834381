"""Pins tasks to generations of environments of haienv: at submission, and at each start.

Names of environments and of images (the environments of admins) are one namespace. An image keeps its bare name, so a
user's environment never changes what an admin's name means; `images/NAME` and the full names of haienv say which one is
meant.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from hai_client.pythons import VENV, chosen
from hai_scheduler.core.model.code import CodeSnapshot
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.workspace import builds
from hai_scheduler.core.workspace.abi import Machine
from hai_scheduler.core.workspace.environments import Environment, default_of, usable
from hai_scheduler.core.workspace.mounts import Mount
from hai_scheduler.core.workspace.templates import Unresolvable
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.haienvs import HaienvFault, Haienvs, UnknownHaienv
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.workspace.image_machines import ImageMachines
from hai_scheduler.service.workspace.rank_env import PLATFORM_VARIABLES

#: The start of an image's full name.
IMAGES: Final = "images/"
#: The folder of the references to environments, below their root.
REFERENCES: Final = "references"
#: Variables of conda, which the user's shell had for another environment.
_CONDA: Final = ("CONDA_PREFIX", "CONDA_DEFAULT_ENV")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the names in a submission mean: of its environment, and of the snapshot of its code."""

    #: The name of the image; None: the user's default.
    image: str | None = None
    pin: Pin | None = None
    #: The snapshot of its code; None: none.
    snapshot: CodeSnapshot | None = None
    #: Sentences for the user.
    warnings: tuple[str, ...] = ()


#: Neither an image nor an environment is named.
NO_CHOICE: Final = Choice()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinning:
    """The use cases of pins.

    Args:
        haienvs: The environments of haienv; None: this platform has none, and every name is an image's.
        builder: How builds of environments run.
        machines: What is known of images; None: what their environments say alone.
    """

    haienvs: Haienvs | None = None
    builder: builds.BuildSettings = field(default_factory=builds.BuildSettings)
    machines: ImageMachines | None = None

    async def choose(
        self,
        images: Sequence[Environment],
        user: str,
        groups: Collection[str],
        name: str | None,
        env: Mapping[str, str],
        *,
        latest: bool,
    ) -> Choice:
        """Tell what a submission runs in.

        Args:
            images: All images.
            user: The user.
            groups: The user's groups.
            name: The environment or image that the submission names; None: neither.
            env: The variables of the submission: HAI_VENV may be the prefix of an environment of haienv.
            latest: Whether the name counts at each start, not the generation of now (`--env-latest`).

        Raises:
            Invalid: The name means nothing that the user may use.
        """
        found = await self._choose(images, user, groups, name, env)
        if not latest:
            return found
        if found.pin is None:
            raise Invalid("env_latest", True, "is for an environment of haienv: name one with --env, or leave it out")
        if name is not None and "@" in name:
            raise Invalid("env_latest", True, f"{name!r} names a generation: leave out '@' and the number, or this")
        return replace(found, pin=replace(found.pin, latest=True))

    async def _choose(
        self,
        images: Sequence[Environment],
        user: str,
        groups: Collection[str],
        name: str | None,
        env: Mapping[str, str],
    ) -> Choice:
        if name is not None and name.startswith(IMAGES):
            return Choice(image=name.removeprefix(IMAGES))
        if self.haienvs is None:
            return Choice(image=name)
        if name is None:
            own = await self._of_own_python(self.haienvs, env)
            if own is None:
                return Choice()
            image = await self._image(images, user, groups)
            return Choice(pin=await self._found(self.haienvs, user, groups, own, image))
        mine = usable(images, user, groups)
        if any(one.name == name for one in mine):
            return Choice(image=name, warnings=await self._clash(self.haienvs, user, groups, name))
        image = await self._image(images, user, groups)
        try:
            pin = await self.haienvs.find(user, groups, name, image=image)
        except UnknownHaienv as error:
            known = ", ".join(f"{IMAGES}{one.name}" for one in mine)
            images_too = f"; images that you may use: {known}" if known else ""
            raise Invalid("environment", name, f"{_without_field(error)}{images_too}") from None
        except HaienvFault as error:
            raise Invalid("environment", name, _without_field(error)) from None
        self._check_alone(self.haienvs, pin, name, env)
        return Choice(pin=pin)

    async def _image(self, images: Sequence[Environment], user: str, groups: Collection[str]) -> Machine | None:
        """What is known of the image in which an environment of haienv runs: the user's default one."""
        default = default_of(images, user, groups)
        if self.machines is not None:
            return await self.machines.of(default)
        return None if default is None or default.image is None else default.abi

    async def _found(
        self, haienvs: Haienvs, user: str, groups: Collection[str], name: str, image: Machine | None
    ) -> Pin:
        try:
            return await haienvs.find(user, groups, name, image=image)
        except HaienvFault as error:
            raise Invalid(f"env.{VENV}", name, f"{_without_field(error)}; or submit with --no-venv") from None

    async def _of_own_python(self, haienvs: Haienvs, env: Mapping[str, str]) -> str | None:
        """The environment of haienv that the submission was made from: a shell's, or a notebook kernel's."""
        folder = chosen(env)
        return None if folder is None else await haienvs.in_folder(folder)

    async def _clash(self, haienvs: Haienvs, user: str, groups: Collection[str], name: str) -> tuple[str, ...]:
        try:
            other = await haienvs.find(user, groups, name)
        except HaienvFault:
            return ()
        said = (
            f"environment: {name!r} is the name of two: the image {IMAGES}{name}, which is used, and the environment"
            f" {other.name}; write one of these names"
        )
        return (said,)

    def _check_alone(self, haienvs: Haienvs, pin: Pin, name: str, env: Mapping[str, str]) -> None:
        folder = chosen(env)
        if folder is not None and folder != haienvs.prefix(pin):
            raise Invalid(
                "environment", name, f"is one Python, and {folder} (--venv, {VENV}) is another one: name one of them"
            )

    # -- at a start -------------------------------------------------------------------------------

    async def at_launch(self, user: str, groups: Collection[str], chosen_: Pin, started: Pin | None) -> Pin:
        """Return the generation with which a run starts, after a check that it is there as it was pinned.

        Args:
            user: The task's user.
            groups: The user's groups.
            chosen_: The task's pin.
            started: What this run was to start with before, if it was tried already.

        Raises:
            Unresolvable: It is not there; no node is to blame.
        """
        if self.haienvs is None:
            raise Unresolvable(
                f"environment {chosen_.reference}: this platform has no folder of environments any more "
                "(HaiScheduler.haienv_root); ask an admin, or submit the task again"
            )
        pin = chosen_ if started is None else started
        try:
            if chosen_.latest and started is None:
                pin = replace(await self.haienvs.find(user, groups, chosen_.name), latest=True)
            await self.haienvs.check(user, pin)
        except HaienvFault as error:
            raise Unresolvable(str(error)) from None
        return pin

    def order_with(
        self, order: LaunchOrder, pin: Pin | None, own: Mapping[str, str], groups: Collection[str]
    ) -> LaunchOrder:
        """Return the order for a run with the Python of a generation.

        Args:
            order: The order without it.
            pin: The generation; None: the task uses none. `haienv` in the task finds the same environments anyway.
            own: The variables that the user has given to the task, which win over those of the environment.
            groups: The user's groups.
        """
        if self.haienvs is None:
            return order
        told = {"HAIENV_ROOT": self.haienvs.root, "HAIENV_USER": order.user, "HAIENV_GROUPS": ",".join(sorted(groups))}
        env = {**told, **order.env}
        if pin is not None:
            env |= {name: value for name, value in pin.variables.items() if name not in own and not _platforms(name)}
            env = {name: value for name, value in env.items() if name not in _CONDA}
            env |= _variables_of(pin, self.haienvs.prefix(pin))
        return replace(order, env=env, haienv=pin, mounts=tuple(self._read_only(mount) for mount in order.mounts))

    def order_of_build(self, order: LaunchOrder, build: builds.BuildTask, groups: Collection[str]) -> LaunchOrder:
        """Return the order of a build: it may write below the folder of its environment's owner, and nowhere else.

        Args:
            order: The order, as `order_with` returns it.
            build: The build.
            groups: The user's groups.

        Raises:
            Unresolvable: The user has left the group since, or there are no environments any more.
        """
        why = build.refusal(order.user, groups)
        if self.haienvs is None:
            why = f"environment {build.environment}: this platform has no folder of environments any more"
        if self.haienvs is None or why is not None:
            raise Unresolvable(why)
        owner = builds.owner_of(build.environment)
        level, _, group = owner.partition("/")
        # An admin who builds for a group need not be in it: there it is known that the group exists.
        known = sorted({*groups, group}) if level == "groups" else sorted(groups)
        return replace(
            order,
            env={**order.env, "HAIENV_GROUPS": ",".join(known)},
            image=self.builder.image or order.image,
            haienv_writes=owner,
            mounts=builds.writable(order.mounts, self.haienvs.root, owner),
        )

    async def with_view(self, order: LaunchOrder, groups: Collection[str]) -> LaunchOrder:
        """Return the order of a run with the folders of environments that its ranks see.

        A task sees the folders of its user, of the user's groups and of the base environments, and the environment that
        it is pinned to. A build also sees the environment that it extends, and the references of tasks and kernels: it
        must not remove a generation that is in use.
        """
        if self.haienvs is None:
            return order
        more = [] if order.haienv is None else [order.haienv.name]
        if order.haienv_writes is not None:
            more += builds.extended(order.command)
        seen = await self.haienvs.seen(order.user, groups, more)
        if seen is None:
            return order
        if order.haienv_writes is not None:
            outside = [one for one in seen if not one.startswith(f"{order.haienv_writes}/")]
            seen = tuple(sorted({*outside, order.haienv_writes, REFERENCES}))
        return replace(order, haienv_reads=seen)

    def _read_only(self, mount: Mount) -> Mount:
        """Return the mount, read-only where it shows environments: no task changes what others run."""
        assert self.haienvs is not None
        place, root = f"{mount.mount_path.rstrip('/')}/", f"{self.haienvs.root.rstrip('/')}/"
        return replace(mount, read_only=True) if place.startswith(root) else mount


def _platforms(name: str) -> bool:
    """Return whether the platform sets a variable for each rank: no environment changes it."""
    return name in PLATFORM_VARIABLES or name.startswith(("HAI_", "PET_"))


def _variables_of(pin: Pin, prefix: str) -> dict[str, str]:
    name = pin.name.rpartition("/")[2]
    conda = {"CONDA_PREFIX": prefix, "CONDA_DEFAULT_ENV": name} if pin.flavour == "conda" else {}
    return {VENV: prefix, "HAIENV": pin.reference, "HF_ENV_NAME": name, **conda}


def _without_field(error: HaienvFault) -> str:
    return str(error).removeprefix("environment: ")
