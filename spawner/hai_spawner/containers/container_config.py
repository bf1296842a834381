"""Ask the scheduler service for a user's folders and environments: `GET /container-config`."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from hai_client.codec import WrongShape, decode
from hai_client.wire.storage import ContainerConfig, ContainerEnvironment, Mounted
from hai_spawner.containers.service import ServiceUnanswered, ask, unanswered

#: Seconds to wait for an answer: a user waits for the page.
_TIMEOUT_S: Final = 10.0
_KINDS: Final = frozenset({"host_path", "pvc"})

#: What a user gets where the service is not asked: the folders and environments of the image.
NOTHING: Final = ContainerConfig(
    user="", groups=(), node_group="", mounts=(), left_out=(), environments=(), warnings=()
)


class ContainerConfigError(Exception):
    """Folders and environments cannot be read; the text says why.

    Attributes:
        wrong: Whether the service answered and refused this user: asking again does not help.
    """

    def __init__(self, message: str, *, wrong: bool = False) -> None:
        super().__init__(message)
        self.wrong = wrong


async def places_of(
    api_url: str, token_file: str, *, user: str, groups: Collection[str], node_group: str = "jupyter"
) -> ContainerConfig:
    """Ask the scheduler service for a user's folders and environments.

    Args:
        api_url: Base of the service's REST interface.
        token_file: File with the token of the Hub service as which the spawner sends requests.
        user: Name of the user.
        groups: The user's groups at the Hub.
        node_group: Node group in which the container will run.

    Raises:
        ContainerConfigError: There is no token, no answer, or a refusal. The text holds no secret.
    """
    query = {"user": user, "groups": json.dumps(sorted(groups)), "node_group": node_group}
    try:
        token = await read_token(token_file)
        answer = await ask("GET", f"{api_url.rstrip('/')}/container-config", token, query=query, timeout_s=_TIMEOUT_S)
    except ServiceUnanswered as error:
        raise ContainerConfigError(str(error)) from None
    if answer.status != 200:
        raise ContainerConfigError(
            f"the scheduler service answers {answer.status}" + (f": {answer.detail}" if answer.detail else ""),
            wrong=answer.status in (400, 403),
        )
    return read_places(answer.body)


async def read_token(path: str) -> str:
    """Return the token in a file. Raises ServiceUnanswered if there is none."""
    try:
        # A file of one line on a local disk or a mounted secret.
        return Path(path).read_text(encoding="ascii").strip()  # noqa: ASYNC240
    except (OSError, ValueError) as error:
        raise unanswered(error) from None


def read_places(body: Any) -> ContainerConfig:
    """Return folders and environments from the service's answer.

    Raises:
        ContainerConfigError: The answer has another form, or a folder that no container may have.
    """
    try:
        container_config = decode(ContainerConfig, body)
    except WrongShape as error:
        message = f"the scheduler service answers something else than mounts and environments ({error})"
        raise ContainerConfigError(message) from None
    for mount in container_config.mounts:
        if not _is_safe(mount):
            what = f"{mount.kind} at {mount.mount_path!r}"
            message = f"the scheduler service answers something else than mounts and environments ({what})"
            raise ContainerConfigError(message)
    for folder in container_config.haienvs or ():
        if not folder or folder.startswith("/") or not {"..", ".", ""}.isdisjoint(folder.split("/")):
            message = f"the scheduler service answers something else than folders of environments ({folder!r})"
            raise ContainerConfigError(message)
    return container_config


def _is_safe(mount: Mounted) -> bool:
    """Return whether the kind is known and the path stays where it says."""
    return mount.kind in _KINDS and mount.mount_path.startswith("/") and ".." not in mount.mount_path.split("/")


def environment_of(container_config: ContainerConfig, name: str | None) -> ContainerEnvironment | None:
    """Return the environment of that name, or the default one if `name` is None; None if there is none."""
    wanted = (
        found for found in container_config.environments if (found.default if name is None else found.name == name)
    )
    return next(wanted, None)
