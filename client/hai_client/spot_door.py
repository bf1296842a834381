"""How a spot container speaks to the Hub: it knocks, is told what to run, and says when it leaves.

The token is the run's own. It reaches the Hub in a header alone, as what the Hub answers reaches the server in its
environment alone: neither is ever printed.
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


class Unreachable(Exception):
    """The Hub does not answer now, or not as itself. Asking again later may help."""


class Refused(Exception):
    """The Hub does not want this container. Asking again is of no use."""


@dataclass(frozen=True)
class Answer:
    """What the Hub says to a knock."""

    #: Which start of the server the Hub counts on; None: none yet, knock again.
    generation: str | None = None
    #: What to run; empty: what runs already.
    command: tuple[str, ...] = ()
    #: With these variables, which hold secrets.
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: When to knock again, seconds.
    retry_s: float = 1.0


class Door:
    """The Hub's handler for spot containers.

    Args:
        url: Its address, from `HAI_SPOT_URL`.
        token: The run's token.
        server: Name of the user's server; empty for the one without a name.
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

    def knock(self, port: int, generation: str | None) -> Answer:
        """Say where the server listens, or will; learn what to run there.

        Args:
            port: Port of this machine.
            generation: What runs already; None for nothing.

        Raises:
            Unreachable: Knock again later.
            Refused: Do not.
        """
        return _read(self._ask("POST", {"server": self._server, "port": port, "generation": generation}))

    def leave(self) -> None:
        """Say that the server ends now, so that nobody is sent to it any more.

        Raises:
            Unreachable: The Hub will notice by itself.
            Refused: It does not know this container.
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
            raise Unreachable(type(error).__name__) from None
        finally:
            connection.close()
        found = _object(data)
        if 200 <= status < 300:
            return found
        said = str(found.get("message") or f"status {status}")
        if status in (401, 403, 404, 409, 410):
            raise Refused(said)
        raise Unreachable(said)


def _read(found: Mapping[str, Any]) -> Answer:
    generation, command, env = found.get("generation"), found.get("command") or [], found.get("env") or {}
    known = generation is None or isinstance(generation, str)
    words = isinstance(command, list) and all(isinstance(word, str) for word in command)
    variables = isinstance(env, dict) and all(isinstance(value, str) for value in env.values())
    if not (known and words and variables):
        raise Unreachable("an answer that makes no sense")
    retry = found.get("retry_s")
    return Answer(
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
