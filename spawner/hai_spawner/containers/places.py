"""Ask the scheduler service for a user's folders and environments: `GET /container-config`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

#: Seconds to wait for an answer: a user waits for the page.
_TIMEOUT: Final = aiohttp.ClientTimeout(total=10, sock_connect=5)
_KINDS: Final = frozenset({"host_path", "pvc"})


class PlacesError(Exception):
    """Folders and environments cannot be read; the text says why.

    Attributes:
        wrong: Whether the service answered and refused this user: asking again does not help.
    """

    def __init__(self, message: str, *, wrong: bool = False) -> None:
        super().__init__(message)
        self.wrong = wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A folder that the container sees; the service has filled in all templates.

    Attributes:
        kind: `host_path`, a folder of the node, or `pvc`, a claim of the container's namespace.
        source: Path of the folder, or name of the claim.
        sub_path: Folder within the claim; empty: the whole claim.
        mount_path: Path of the folder in the container.
        read_only: Whether the container can only read the folder.
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
        name: Name of the environment.
        description: Description for users.
        image: Image to run in; None: the image of the size or of the spawner.
        python: Path of its Python; None: the Python of the image.
        variables: Environment variables.
        default: Whether it is used if the user chooses none.
    """

    name: str
    description: str = ""
    image: str | None = None
    python: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Folders and environments of a user's development container.

    Attributes:
        mounts: Folders, in the order in which they are mounted.
        environments: Environments that the user may use.
        warnings: Warnings for the user.
    """

    mounts: tuple[Mount, ...] = ()
    environments: tuple[Environment, ...] = ()
    warnings: tuple[str, ...] = ()

    def environment(self, name: str | None) -> Environment | None:
        """Return the environment of that name, or the default one if `name` is None; None if there is none."""
        if name is None:
            return next((found for found in self.environments if found.default), None)
        return next((found for found in self.environments if found.name == name), None)


async def ask(
    api_url: str, token_file: str, *, user: str, groups: Collection[str], node_group: str = "jupyter"
) -> Places:
    """Ask the scheduler service for a user's folders and environments.

    Args:
        api_url: Base of the service's REST interface.
        token_file: File with the token of the Hub service as which the spawner sends requests.
        user: Name of the user.
        groups: The user's groups at the Hub.
        node_group: Node group in which the container will run.

    Raises:
        PlacesError: There is no token, no answer, or a refusal. The text holds no secret.
    """
    query = {"user": user, "groups": json.dumps(sorted(groups)), "node_group": node_group}
    try:
        token = (await _read(token_file)).strip()
        # A proxy of the environment must not see the token: aiohttp uses none unless trust_env is set.
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT, headers={"Authorization": f"Bearer {token}"}) as session,
            session.get(f"{api_url.rstrip('/')}/container-config", params=query, allow_redirects=False) as answer,
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
    """Return folders and environments from the service's answer.

    Raises:
        PlacesError: The answer has another form.
    """
    try:
        return Places(
            mounts=tuple(_mount(entry) for entry in body["mounts"]),
            environments=tuple(_environment(entry) for entry in body["environments"]),
            warnings=tuple(map(str, body.get("warnings", ()))),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"the scheduler service answers something else than mounts and environments ({type(error).__name__})"
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
