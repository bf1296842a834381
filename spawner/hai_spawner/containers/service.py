"""Requests to the scheduler service, which do not block the Hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

#: Seconds to wait for the connection.
_CONNECT_S: Final = 5.0


class ServiceUnanswered(Exception):
    """The scheduler service does not answer; the text says why, and holds no secret."""


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """The service's answer."""

    status: int  #: HTTP status.
    body: Any  #: The decoded JSON; None for an empty answer.

    @property
    def detail(self) -> str:
        """The sentence that says why the request was refused; empty if there is none."""
        return str(self.body.get("detail") or "") if isinstance(self.body, Mapping) else ""


async def ask(
    method: str,
    url: str,
    token: str,
    *,
    query: Mapping[str, str] | None = None,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float,
) -> ServiceAnswer:
    """Send a request and return the answer, whatever its status.

    Args:
        method: The HTTP method.
        url: The URL, with its path quoted.
        token: The token to send.
        query: Query parameters.
        body: What to send as JSON; None: no body.
        headers: Further headers.
        timeout_s: Seconds for the whole request.

    Raises:
        ServiceUnanswered: There is no answer, or it is no JSON.
    """
    sent = {"Authorization": f"Bearer {token}", "Accept": "application/json", **(headers or {})}
    timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=_CONNECT_S)
    try:
        # A proxy of the environment must not see the token: aiohttp uses none unless trust_env is set.
        async with (
            aiohttp.ClientSession(timeout=timeout, headers=sent) as session,
            session.request(method, url, params=query, json=body, allow_redirects=False) as answer,
        ):
            return ServiceAnswer(answer.status, await answer.json(content_type=None))
    except (OSError, aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise unanswered(error) from None


def unanswered(error: Exception) -> ServiceUnanswered:
    """Return the error for a request that failed, by the kind of the failure alone."""
    return ServiceUnanswered(f"the scheduler service does not answer ({type(error).__name__})")
