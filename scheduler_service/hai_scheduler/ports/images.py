"""The port to registries of images: what a tag means now."""

from __future__ import annotations

from typing import Protocol


class NoDigest(Exception):
    """The registry did not tell the digest of an image; the message says why, without a secret."""


class Images(Protocol):
    """Registries of images."""

    async def pinned(self, image: str) -> str:
        """Return the image with its digest, `registry.example/torch:2@sha256:...`; one that has a digest stays as is.

        Raises:
            NoDigest: It could not be found out, within a short time.
        """
        ...
