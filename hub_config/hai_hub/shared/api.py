"""Send requests to the Hub and to the scheduler service over loopback."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any, Final

#: Ignores a proxy of the environment (http_proxy): these requests never leave the machine.
_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_TIMEOUT_S: Final = 10.0


class ApiError(Exception):
    """A request that failed or was not answered.

    Attributes:
        status: The HTTP status; None when there was no answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Api:
    """Sends JSON over HTTP with a token.

    Attributes:
        base: URL before the paths, without a slash at the end.
        token: Token of the Hub to send; None: no token.
        timeout: Seconds to wait for an answer.
    """

    base: str
    token: str | None = field(default=None, repr=False)
    timeout: float = _TIMEOUT_S

    def get(self, path: str) -> Any:
        """Send GET; returns the decoded answer.

        Raises:
            ApiError: There was no answer, or its status was not 2xx.
        """
        return self._send("GET", path, None)

    def post(self, path: str, body: object = None) -> Any:
        """Send POST; returns the decoded answer, None for an empty one.

        Raises:
            ApiError: There was no answer, or its status was not 2xx.
        """
        return self._send("POST", path, body)

    def _send(self, method: str, path: str, body: object) -> Any:
        data = None if method == "GET" else json.dumps(body if body is not None else {}).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method)  # noqa: S310
        request.add_header("Accept", "application/json")
        if data is not None:
            request.add_header("Content-Type", "application/json")
        if self.token is not None:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with _OPENER.open(request, timeout=self.timeout) as answer:
                text = answer.read()
            return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            with error:
                message = f"{method} {path} was answered with {error.code}: {_detail(error.read(2000))}"
            raise ApiError(message, error.code) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            message = f"{method} {path} was not answered: {error}"
            raise ApiError(message) from None


def _detail(body: bytes) -> str:
    """Return the text of an error: `detail` of a problem document, `message` of the Hub's errors."""
    try:
        document = json.loads(body)
        return str(document.get("detail") or document.get("message") or "no reason given")
    except (ValueError, AttributeError):
        return "no reason given"
