"""Names of images, read as container runtimes read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: The registry of names without one, what it is called in names, and where it answers.
_DOCKER: Final = "docker.io"
_DOCKER_HOST: Final = "registry-1.docker.io"


@dataclass(frozen=True, slots=True)
class ImageName:
    """An image in a registry."""

    #: Where the registry answers: `registry.example:5000`.
    host: str
    #: Its name there: `team/torch`.
    repository: str
    tag: str
    #: What a file of pull secrets calls the registry; the first that it has counts.
    keys: tuple[str, ...]


def parse(image: str) -> ImageName:
    """Read the name of an image that has no digest. Its form was checked when its environment was written."""
    first, slash, rest = image.partition("/")
    named = bool(slash) and ("." in first or ":" in first or first == "localhost")
    host, path = (first, rest) if named else (_DOCKER, image)
    repository, colon, tag = path.rpartition(":")
    if not colon:
        repository, tag = path, "latest"
    if host in (_DOCKER, f"index.{_DOCKER}"):
        keys = (f"https://index.{_DOCKER}/v1/", f"index.{_DOCKER}", _DOCKER)
        return ImageName(_DOCKER_HOST, repository if "/" in repository else f"library/{repository}", tag, keys)
    return ImageName(host, repository, tag, (host, f"https://{host}", f"https://{host}/v1/", f"https://{host}/v2/"))
