"""What images have that compiled files need: what an admin has said of an image, else what a task has found in it.

Ranks tell what they find (`service/runs/image_reports.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hai_scheduler.core.workspace.abi import Machine, PlatformImage, key_of
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.service.workspace.image_pins import ImagePins
from hai_scheduler.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageMachines:
    """Tells what is known of images.

    Args:
        store: The store.
        platform: The image of ranks whose environment names none; None: ranks run in no image here.
        pins: Finds the digests of images.
    """

    store: Store
    platform: PlatformImage | None = None
    pins: ImagePins = field(default_factory=ImagePins)

    async def of(self, environment: Environment | None) -> Machine | None:
        """Return what is known of the image in which ranks of an environment run; None: nothing is.

        Args:
            environment: An environment of admins; None, or one without an image: the platform's image.
        """
        if self.platform is None:
            return None if environment is None or environment.image is None else environment.abi
        if environment is None or environment.image is None:
            name, image = f"the platform's image {self.platform.image}", self.platform.image
            said = Machine(machine=self.platform.machine, glibc=self.platform.glibc, name=name)
        else:
            said, image = environment.abi, environment.image
        if said.machine or said.glibc:
            return said
        pinned, _ = await self.pins.of(environment)
        async with self.store.read() as tx:
            found = await tx.found_machines.of(key_of(pinned or image))
        return None if found is None else found.as_machine(said.name)
