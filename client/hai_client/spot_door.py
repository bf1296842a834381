"""A spot container's calls to the Hub: it registers ("knocks"), learns what to run, and reports when it leaves.

The token is the run's own. It is sent only in a header, and the Hub's answer is passed to the server only as its
environment; neither is ever printed.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

#: How long the Hub may take to answer, seconds.
TIMEOUT_S = 10.0
_MAX_ANSWER = 1 << 20


class HubUnreachable(Exception):
    """The Hub does not answer now, or the answer is not the Hub's. A later try may help."""


class DoorRefused(Exception):
    """The Hub refuses this container. Another try is of no use."""


@dataclass(frozen=True)
class DoorAnswer:
    """The Hub's answer to a knock."""

    generation: str | None = None  #: Id of the start of the server that the Hub expects; None: none yet, knock again.
    command: tuple[str, ...] = ()  #: The command to run; empty: leave the server running.
    #: The variables of the command, secrets among them.
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    retry_s: float = 1.0  #: When to knock again, seconds.


class Door:
    """The Hub's handler for spot containers.

    Args:
        url: The address of the handler, from `HAI_SPOT_URL`.
        token: The run's token.
        server: Name of the user's server; empty for the default server.
    """

    def __init__(self, url: str, token: str, server: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"HAI_SPOT_URL is {url!r}; it must be the address of the Hub's door for spot containers")
        self._secure = parts.scheme == "https"
        self._host = parts.netloc
        self._path = parts.path
        self._token = token
        self._server = server

    def knock(self, port: int, generation: str | None) -> DoorAnswer:
        """Register the server's port with the Hub, and return what the Hub wants to run there.

        Args:
            port: The server's port on this machine.
            generation: Id of the start that runs already; None: nothing runs.

        Raises:
            Unreachable: The Hub does not answer; knock again later.
            Refused: The Hub refuses this container; do not knock again.
        """
        return _read(self._ask("POST", {"server": self._server, "port": port, "generation": generation}))

    def leave(self) -> None:
        """Tell the Hub that the server ends now, so that the proxy sends no request to it any more.

        Raises:
            Unreachable: The Hub does not answer; it will notice the end by itself.
            Refused: The Hub does not know this container.
        """
        self._ask("DELETE", {"server": self._server})

    def _ask(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, timeout=TIMEOUT_S)
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Accept": "application/json",
            "Content-Type": "application/json",
        }
        try:
            connection.request(method, self._path, json.dumps(body).encode(), headers)
            response = connection.getresponse()
            status, data = response.status, response.read(_MAX_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            raise HubUnreachable(type(error).__name__) from None
        finally:
            connection.close()
        found = _object(data)
        if 200 <= status < 300:
            return found
        said = str(found.get("message") or f"status {status}")
        if status in (401, 403, 404, 409, 410):
            raise DoorRefused(said)
        raise HubUnreachable(said)


def _read(found: Mapping[str, Any]) -> DoorAnswer:
    generation, command, env = found.get("generation"), found.get("command") or [], found.get("env") or {}
    known = generation is None or isinstance(generation, str)
    words = isinstance(command, list) and all(isinstance(word, str) for word in command)
    variables = isinstance(env, dict) and all(isinstance(value, str) for value in env.values())
    if not (known and words and variables):
        raise HubUnreachable("an answer that makes no sense")
    retry = found.get("retry_s")
    return DoorAnswer(
        generation=generation,
        command=tuple(command),
        env=env,
        retry_s=min(60.0, max(0.2, float(retry))) if isinstance(retry, (int, float)) else 1.0,
    )


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data) if data else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
