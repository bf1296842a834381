"""What images have that compiled files need: what an admin has said of an image, else what a task has found in it.

Ranks tell what they find (`service/runs/image_reports.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from hai_scheduler.core.workspace.abi import Machine, key_of
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.workspace.image_pins import ImagePins


@dataclass(slots=True, eq=False)
class ImageMachines(UseCase):
    """Tells what is known of images."""

    pins: ImagePins

    async def of(self, environment: Environment | None) -> Machine | None:
        """Return what is known of the image in which ranks of an environment run; None: nothing is.

        Args:
            environment: An environment of admins; None, or one without an image: the platform's image.
        """
        platform = self.world.platform_image
        if platform is None:
            return None if environment is None or environment.image is None else environment.abi
        if environment is None or environment.image is None:
            name, image = f"the platform's image {platform.image}", platform.image
            said = Machine(machine=platform.machine, glibc=platform.glibc, name=name)
        else:
            said, image = environment.abi, environment.image
        if said.machine or said.glibc:
            return said
        pinned, _ = await self.pins.of(environment)
        async with self.store.read() as tx:
            found = await tx.found_machines.of(key_of(pinned or image))
        return None if found is None else found.as_machine(said.name)
