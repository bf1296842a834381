"""Send requests to the platform: its address, the user's token and an HTTP client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlencode

import httpx

from hai_lab.problem import Problem, invalid, restarting, unavailable

API_PATH = "/services/hai/api/v1"
#: Headers of the browser that are forwarded to the platform.
REQUEST_HEADERS = (
    "Accept",
    "Accept-Language",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "Last-Event-ID",
)
#: Query parameters for Jupyter Server, which may be secret and are not forwarded.
OWN_PARAMETERS = frozenset({"token", "_xsrf", "no_track_activity"})
#: Seconds. Streams are silent for at most 15 s: the platform sends keep-alives.
TIMEOUT = httpx.Timeout(60.0, connect=5.0)


@dataclass(frozen=True)
class PlatformClient:
    """The address of the platform, the user's token, and the client that sends requests."""

    api_url: str  #: Base of the REST interface without a slash at the end; empty: not under HAI.
    token: str = field(repr=False)  #: The user's token. It is never shown.
    client: httpx.AsyncClient = field(repr=False)  #: Connections to the platform.

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> PlatformClient:
        """Read `HAI_API_URL` (or the Hub's address `HAI_URL`) and `JUPYTERHUB_API_TOKEN`."""
        hub = environ.get("HAI_URL", "").rstrip("/")
        api_url = environ.get("HAI_API_URL", "").rstrip("/") or (f"{hub}{API_PATH}" if hub else "")
        client = httpx.AsyncClient(
            timeout=TIMEOUT,
            # Event streams stay open, one a browser tab: no cap.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=8),
            follow_redirects=False,
            # The token must not pass a proxy that happens to be in the environment.
            trust_env=False,
        )
        return cls(api_url, environ.get("JUPYTERHUB_API_TOKEN", ""), client)

    def request(self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> httpx.Request:
        """Return the request to the platform.

        Args:
            method: The HTTP method.
            path: Path below the API's base, percent-encoded as the browser sent it.
            query: The query as the browser sent it.
            headers: The browser's headers; only the listed ones are passed on.
            body: The body; empty for none.

        Raises:
            Problem: The server does not run under HAI, or the path leaves the API.
        """
        if not (self.api_url and self.token):
            missing = "HAI_API_URL" if not self.api_url else "JUPYTERHUB_API_TOKEN"
            raise unavailable(
                f"This JupyterLab server does not run under HAI: {missing} is not set. "
                "Start the server from a Hub that HAI is installed on."
            )
        parameters = [(key, value) for key, value in parse_qsl(query) if key not in OWN_PARAMETERS]
        url = f"{self.api_url}/{checked(path)}" + (f"?{urlencode(parameters)}" if parameters else "")
        passed = {name: headers[name] for name in REQUEST_HEADERS if name in headers}
        # What the platform has compressed is passed on as it is. A compressed stream could wait for more before it
        # shows anything.
        whole = "text/event-stream" not in headers.get("Accept", "")
        packs = whole and "gzip" in headers.get("Accept-Encoding", "")
        passed["Accept-Encoding"] = "gzip" if packs else "identity"
        passed["Authorization"] = f"Bearer {self.token}"
        return self.client.build_request(method, url, headers=passed, content=body or None)

    async def send(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the body of the answer is read by the caller, who closes it.

        Raises:
            Problem: The platform cannot be reached, or something else answers in its place.
        """
        try:
            response = await self.client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise restarting(
                "HAI is restarting, or cannot be reached. Try again in a moment, and tell an administrator if it lasts."
            ) from None
        except httpx.HTTPError as error:
            raise unreachable(type(error).__name__) from None
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if response.status_code == 204 or kind in PASSED_TYPES:
            return response
        await response.aclose()
        # An error page of a proxy, or a login form, must not reach the browser under this server's origin.
        raise unreachable(f"status {response.status_code}, {kind or 'no content type'}")


#: Content types of the platform's answers; another type comes from a proxy in between.
PASSED_TYPES = frozenset(
    {"application/gzip", "application/json", "application/problem+json", "text/event-stream", "text/plain"}
)


def unreachable(why: str) -> Problem:
    """Return the problem for an answer that does not come from the platform."""
    return unavailable(
        f"The HAI scheduler service cannot be reached ({why}). "
        "Try again in a moment, and tell an administrator if it lasts."
    )


def checked(path: str) -> str:
    """Return the path if it stays below the API's base.

    Raises:
        Problem: It has `.` or `..` parts, also percent-encoded, or characters that no path has.
    """
    plain = unquote(path)
    if any(part in (".", "..") for part in plain.split("/")) or "\\" in plain or not plain.isprintable():
        raise invalid(f"The path {plain!r} leaves the interface of HAI; use a path such as 'tasks/41'.")
    return path.lstrip("/")
