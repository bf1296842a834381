"""The one list of what a task can run in: images, which admins set up, and the environments of haienv."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hai_scheduler.ports.haienvs import HaienvDetail, HaienvFault, ListedHaienv, UnknownHaienv
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.errors import Invalid, NotFound
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.workspace.image_environments import ImageEnvironments, Listed
from hai_scheduler.service.workspace.pinning import IMAGES


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the caller can choose: images by name, then environments: own, groups', base ones, those of others."""

    images: Sequence[Listed]
    haienvs: Sequence[ListedHaienv] = ()
    #: What is missing in the list, and why.
    warnings: Sequence[str] = ()
    #: The folder of all environments of haienv, for those who can have some.
    root: str | None = None


@dataclass(slots=True, eq=False)
class Catalogue(UseCase):
    """The use cases that list images and environments together."""

    images: ImageEnvironments

    async def show(self, caller: Caller, *, everybodys: bool = False, kind: str | None = None) -> Choices:
        """Return what the caller can choose or, with `everybodys`, all.

        Args:
            caller: Who asks.
            everybodys: For admins: also what the caller may not use.
            kind: `image` or `haienv` alone; None: both.

        Raises:
            Forbidden: `everybodys`, and the caller is no admin.
        """
        if everybodys:
            admins_only(caller)
        images = await self.images.show(caller, everybodys=everybodys) if kind != "haienv" else []
        if kind == "image" or self.world.haienvs is None or caller.kind != "user":
            return Choices(images=images)
        root = self.world.haienvs.root
        try:
            found = await self.world.haienvs.listed(caller.name, caller.groups, everybodys=everybodys)
        except HaienvFault as error:
            return Choices(images=images, warnings=[str(error)], root=root)
        cut = [f"There are more than {len(found.items)} environments: the rest is not listed."] if found.cut else []
        return Choices(images=images, haienvs=found.items, warnings=cut, root=root)

    async def one(self, caller: Caller, name: str) -> Listed | HaienvDetail:
        """Return what a name means for the caller, as a submission takes it: an image first, then an environment.

        Raises:
            NotFound: There is none that the caller may use.
            Invalid: It is no name, or the environment is damaged.
        """
        bare = name.removeprefix(IMAGES)
        images = await self.images.show(caller)
        image = next((one for one in images if one.environment.name == bare), None)
        if image is not None:
            return image
        if self.world.haienvs is None or bare != name or caller.kind != "user":
            raise NotFound(f"There is no environment {name!r} that you may use: `hai environments` lists them.")
        try:
            return await self.world.haienvs.shown(caller.name, caller.groups, name)
        except UnknownHaienv as error:
            raise NotFound(f"{error}; `hai environments` lists those that you may use") from None
        except HaienvFault as error:
            raise Invalid("name", name, str(error).removeprefix("environment: ")) from None
