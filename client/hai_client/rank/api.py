"""Speaking to the service with the token of the run."""

from __future__ import annotations

import json
import time

from hai_client.rank.address import Address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from http.client import HTTPConnection
    from typing import Any


JSON = "application/json"
BYTES = "application/octet-stream"
#: In the answer to a piece of a log that does not fit: from where the service wants it.
OFFSET_HEADER = "Upload-Offset"
#: The status that says: not so much at once; and how long its answer is heeded at most, seconds.
TOO_MANY = 429
LONGEST_HEED_S = 10.0
#: While an answer is waited for, it is looked so often whether the service has moved, seconds.
LOOK_EVERY_S = 1.0


class Unreachable(Exception):
    """The service could not be reached, or did not answer in time."""


class Answer:
    """What the service said: the status, the body if that was a JSON object, and from where it wants a log."""

    __slots__ = ("body", "offset", "status")

    def __init__(self, status: int, body: dict[str, Any], offset: str | None = None) -> None:
        self.status = status
        self.body = body
        self.offset = int(offset) if offset is not None and offset.isdigit() else None


class Api:
    """The endpoints of one rank. Every call may come from any thread.

    Args:
        url: The address of the service when the rank was started.
        token: The run's token.
        run_id: The run.
        rank: The rank.
        address_file: Where services write their addresses; None: it never moves.
    """

    def __init__(self, url: str, token: str, run_id: str, rank: int, address_file: str | None = None) -> None:
        self._address = Address(url, address_file)
        self._run = f"/runs/{run_id}"
        self._token = token
        self._rank = rank

    def notice(self, seen: int, wait: int) -> tuple[int, dict[str, Any]]:
        """Wait at most `wait` seconds for a notice with a greater revision. Status and body.

        Raises:
            Unreachable: the service is down or the answer is none.
        """
        path = f"/notice?rank={self._rank}&seen={seen}&wait={wait}"
        answer = self._request("GET", path, None, wait + 15)
        return answer.status, answer.body

    def addresses(self, wait: int, patience: float = 15) -> tuple[int, dict[str, Any]]:
        """Wait at most `wait` seconds until every rank is up. Status and body. Raises Unreachable."""
        answer = self._request("GET", f"/addresses?rank={self._rank}&wait={wait}", None, wait + patience)
        return answer.status, answer.body

    def report(self, body: dict[str, Any], patience: float = 15) -> int:
        """Post a report; the status. Raises Unreachable."""
        data = json.dumps(body).encode()
        return self._request("POST", f"/ranks/{self._rank}/report", data, patience).status

    def send_log(self, offset: int, data: bytes, *, skip: bool) -> Answer:
        """Send a piece of the log. Raises Unreachable.

        Args:
            offset: Where in the log it belongs, bytes.
            data: The piece.
            skip: Whether what the service lacks before it is lost for good.
        """
        path = f"/ranks/{self._rank}/log?offset={offset}" + ("&skip=true" if skip else "")
        return self._request("PUT", path, data, 30, kind=BYTES)

    def _request(self, method: str, path: str, data: bytes | None, timeout: float, *, kind: str = JSON) -> Answer:
        # Imported in the thread that needs it: it costs as much as the rest of the start.
        import http.client

        urls = self._address.urls()
        url = self._address.among(urls)
        scheme, _, rest = url.partition("://")
        host, slash, base = rest.partition("/")
        connect = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
        try:
            connection = connect(host, timeout=timeout)
            try:
                headers = {"Authorization": f"Bearer {self._token}", "Accept": JSON}
                if data is not None:
                    headers["Content-Type"] = kind
                connection.request(method, f"{slash}{base}".rstrip("/") + self._run + path, data, headers)
                self._wait(connection, urls, timeout)
                answer = connection.getresponse()
                if answer.status != 204 and "json" not in (answer.getheader("Content-Type") or ""):
                    # Another program has the port: what it thinks of a report must not count as said by the service.
                    raise http.client.HTTPException("this is not the service")
                found = Answer(answer.status, _object(answer.read(1 << 20)), answer.getheader(OFFSET_HEADER))
                after = answer.getheader("Retry-After") or ""
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            self._address.failed()
            raise Unreachable(type(error).__name__) from None
        if found.status == TOO_MANY and after.isdigit():
            # Here, so that each who repeats a request waits as long as the service asks, and nobody for ever.
            time.sleep(min(float(after), LONGEST_HEED_S, timeout))
        return found

    def _wait(self, connection: HTTPConnection, urls: list[str], timeout: float) -> None:
        """Wait for the first byte of the answer, but not where the service is no more. Raises Unreachable, OSError."""
        import select

        poll = select.poll()
        poll.register(connection.sock, select.POLLIN)
        end = time.monotonic() + timeout
        while not poll.poll(LOOK_EVERY_S * 1000):
            # Not which of them to call: that changes when the call of another thread fails.
            if self._address.urls() != urls:
                raise Unreachable("it has moved")
            if time.monotonic() > end:
                raise TimeoutError("no answer")


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data) if data else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
