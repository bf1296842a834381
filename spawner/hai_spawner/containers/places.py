"""What the scheduler service says of a user's folders and environments: `GET /places`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

#: Seconds to wait for an answer: a user looks at a page meanwhile.
_TIMEOUT: Final = aiohttp.ClientTimeout(total=10, sock_connect=5)
_KINDS: Final = frozenset({"host_path", "pvc"})


class PlacesError(Exception):
    """They cannot be had; the text says why.

    Attributes:
        wrong: The service has answered, and refuses this user: asking again does not help.
    """

    def __init__(self, message: str, *, wrong: bool = False) -> None:
        super().__init__(message)
        self.wrong = wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A folder that the container sees, as the service resolved it: no template is in it.

    Attributes:
        kind: `host_path`, a folder of the node, or `pvc`, a claim of the container's namespace.
        source: The folder, or the claim's name.
        sub_path: Folder within the claim; empty: all of it.
        mount_path: Where the container sees it.
        read_only: Whether it can only be read.
    """

    kind: str
    source: str
    sub_path: str
    mount_path: str
    read_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Programs that notebooks and tasks share.

    Attributes:
        name: What users write.
        description: What it is.
        image: Image to run in; None: the size's or the spawner's.
        python: Path of its python; None: the image's.
        variables: Environment variables.
        default: Whether it is taken by those who choose none.
    """

    name: str
    description: str = ""
    image: str | None = None
    python: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What a development container of a user gets.

    Attributes:
        mounts: Folders, in the order in which they are mounted.
        environments: Environments that he may use.
        warnings: What the user should know about them.
    """

    mounts: tuple[Mount, ...] = ()
    environments: tuple[Environment, ...] = ()
    warnings: tuple[str, ...] = ()

    def environment(self, name: str | None) -> Environment | None:
        """The environment of that name, or the default one where none is named; None if there is none."""
        if name is None:
            return next((found for found in self.environments if found.default), None)
        return next((found for found in self.environments if found.name == name), None)


async def ask(
    api_url: str, token_file: str, *, user: str, groups: Collection[str], node_group: str = "jupyter"
) -> Places:
    """Ask the service.

    Args:
        api_url: Base of the service's REST interface.
        token_file: File with the token of the Hub service that the spawner speaks as.
        user: Whose places.
        groups: His groups at the Hub.
        node_group: Where the container will run.

    Raises:
        PlacesError: There is no token, no answer, or a refusal. No secret is in its text.
    """
    query = {"user": user, "groups": json.dumps(sorted(groups)), "node_group": node_group}
    try:
        token = (await _read(token_file)).strip()
        # A proxy of the environment has no business with the token: aiohttp heeds none unless told to.
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT, headers={"Authorization": f"Bearer {token}"}) as session,
            session.get(f"{api_url.rstrip('/')}/places", params=query, allow_redirects=False) as answer,
        ):
            body = await answer.json(content_type=None)
            status = answer.status
    except (OSError, aiohttp.ClientError, TimeoutError, ValueError) as error:
        message = f"the scheduler service does not answer ({type(error).__name__})"
        raise PlacesError(message) from None
    if status != 200:
        detail = str(body.get("detail", "")) if isinstance(body, Mapping) else ""
        message = f"the scheduler service answers {status}" + (f": {detail}" if detail else "")
        raise PlacesError(message, wrong=status == 400)
    return parse_places(body)


async def _read(path: str) -> str:
    # A file of one line on a local disk or a mounted secret.
    return Path(path).read_text(encoding="ascii")  # noqa: ASYNC240


def parse_places(body: Any) -> Places:
    """Read the service's answer.

    Raises:
        PlacesError: It is not what the service answers.
    """
    try:
        return Places(
            mounts=tuple(_mount(entry) for entry in body["mounts"]),
            environments=tuple(_environment(entry) for entry in body["environments"]),
            warnings=tuple(map(str, body.get("warnings", ()))),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"the scheduler service answers something else than places ({type(error).__name__})"
        raise PlacesError(message) from error


def _mount(entry: Mapping[str, Any]) -> Mount:
    mount = Mount(
        kind=entry["kind"],
        source=str(entry["source"]),
        sub_path=str(entry.get("sub_path") or ""),
        mount_path=str(entry["mount_path"]),
        read_only=bool(entry["read_only"]),
    )
    if mount.kind not in _KINDS or not mount.mount_path.startswith("/") or ".." in mount.mount_path.split("/"):
        raise ValueError(mount.kind)
    return mount


def _environment(entry: Mapping[str, Any]) -> Environment:
    return Environment(
        name=str(entry["name"]),
        description=str(entry.get("description") or ""),
        image=entry.get("image") or None,
        python=entry.get("python") or None,
        variables={str(key): str(value) for key, value in (entry.get("variables") or {}).items()},
        default=bool(entry.get("default")),
    )
