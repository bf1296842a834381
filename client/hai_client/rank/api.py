"""Speaking to the service with the token of the run."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Unreachable(Exception):
    """The service could not be reached, or did not answer in time."""


class Api:
    """The endpoints of one rank. Every call may come from any thread."""

    def __init__(self, url: str, token: str, run_id: str, rank: int) -> None:
        scheme, _, rest = url.partition("://")
        self._host, slash, path = rest.partition("/")
        self._secure = scheme == "https"
        self._path = f"{slash}{path}".rstrip("/") + f"/runs/{run_id}"
        self._token = token
        self._rank = rank

    def notice(self, seen: int, wait: int) -> tuple[int, dict[str, Any]]:
        """Wait at most `wait` seconds for a notice with a greater revision. Status and body.

        Raises:
            Unreachable: the service is down or the answer is none.
        """
        path = f"/notice?rank={self._rank}&seen={seen}&wait={wait}"
        return self._request("GET", path, None, wait + 15)

    def report(self, body: dict[str, Any]) -> int:
        """Post a report; the status. Raises Unreachable."""
        return self._request("POST", f"/ranks/{self._rank}/report", body, 15)[0]

    def _request(
        self, method: str, path: str, body: dict[str, Any] | None, timeout: float
    ) -> tuple[int, dict[str, Any]]:
        # Imported in the thread that needs it: it costs as much as the rest of the start.
        import http.client

        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        try:
            connection = kind(self._host, timeout=timeout)
            try:
                headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
                if body is not None:
                    headers["Content-Type"] = "application/json"
                data = None if body is None else json.dumps(body).encode()
                connection.request(method, self._path + path, data, headers)
                answer = connection.getresponse()
                return answer.status, _object(answer.read(1 << 20))
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(type(error).__name__) from None


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data) if data else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
