"""Pins the image of a task to the digest that its tag has at submission, where the registry answers."""

from __future__ import annotations

from dataclasses import dataclass

from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.ports.images import Images, NoDigest


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePins:
    """Finds out digests.

    Args:
        images: The registries; None: ranks have no images here, or an admin does not want it.
    """

    images: Images | None = None

    async def of(self, environment: Environment | None) -> tuple[str | None, tuple[str, ...]]:
        """Return the image of an environment with its digest, and sentences for the user.

        The image is None where there is none to pin, or where the registry does not answer: then the tag counts at each
        start, and a sentence says so.
        """
        if self.images is None or environment is None or environment.image is None:
            return None, ()
        try:
            return await self.images.pinned(environment.image), ()
        except NoDigest as error:
            said = (
                f"environment: the image {environment.image} is used by its name, which may mean another image at a "
                f"later start: {error}"
            )
            return None, (said,)
