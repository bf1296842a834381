"""Names of images, read as container runtimes read them, and the credentials for their registries."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

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


#: The longest file that is read, bytes.
_LONGEST: Final = 1024 * 1024


def basic_for(file: Path | None, keys: Sequence[str]) -> str | None:
    """Return the value of the header Authorization for a registry; None: the file has none, or cannot be read.

    Args:
        file: The file; None: there is none.
        keys: What the registry may be called in it.
    """
    if file is None:
        return None
    try:
        with file.open("rb") as opened:
            data = opened.read(_LONGEST + 1)
        found: Any = json.loads(data) if len(data) <= _LONGEST else {}
        auths = found["auths"]
        entry = next((auths[key] for key in keys if key in auths), None)
        if entry is None:
            return None
        if entry.get("auth"):
            base64.b64decode(entry["auth"], validate=True)
            return f"Basic {entry['auth']}"
        pair = f"{entry['username']}:{entry['password']}".encode()
        return f"Basic {base64.b64encode(pair).decode('ascii')}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, binascii.Error):
        # The message of such an error may hold a part of the file.
        return None
