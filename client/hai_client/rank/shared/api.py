"""HTTP calls to the service with the token of the run."""

from __future__ import annotations

import json
import time

from hai_client.metrics.window import PACKED_FORM
from hai_client.rank.shared.address import Address
from hai_client.version import VERSION_HEADER, __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from http.client import HTTPConnection
    from typing import Any


JSON = "application/json"
BYTES = "application/octet-stream"
#: Header of the answer to a piece of the log at the wrong offset: the offset that the service expects.
OFFSET_HEADER = "Upload-Offset"
#: The HTTP status for too many requests, and the most of its `Retry-After` that is obeyed, seconds.
TOO_MANY = 429
LONGEST_HEED_S = 10.0
#: Time between two checks whether the service has moved, while a call waits for its answer, seconds.
LOOK_EVERY_S = 1.0


class Unreachable(Exception):
    """The service could not be reached, or did not answer in time."""


class Answer:
    """The service's answer: status, body ({} if it is no JSON object), and the offset that it expects of a log."""

    __slots__ = ("body", "offset", "status")

    def __init__(self, status: int, body: dict[str, Any], offset: str | None = None) -> None:
        self.status = status
        self.body = body
        self.offset = int(offset) if offset is not None and offset.isdigit() else None


class RankApi:
    """The REST endpoints of one rank. Every method may be called from any thread.

    Args:
        url: The service's address when the rank was started.
        token: The run's token.
        run_id: The id of the run.
        rank: The number of the rank.
        address_file: The file in which services write their addresses; None: the service never moves.
    """

    def __init__(self, url: str, token: str, run_id: str, rank: int, address_file: str | None = None) -> None:
        self._address = Address(url, address_file)
        self._run = f"/runs/{run_id}"
        self._token = token
        self._rank = rank
        #: Whether the service has said that it takes packed points.
        self._packs = False

    def notice(self, seen: int, wait: int, recording: int | None = None) -> tuple[int, dict[str, Any]]:
        """Wait for a notice with a revision greater than `seen`, or for an order to record; return status and body.

        Args:
            seen: The revision that is known.
            wait: How long to wait, seconds.
            recording: The number of the newest recording that is known; None: recordings are not asked for.

        Raises:
            Unreachable: The service is down, or its answer is not HTTP.
        """
        path = f"/notice?rank={self._rank}&seen={seen}&wait={wait}"
        if recording is not None:
            path += f"&recording={recording}"
        answer = self._request("GET", path, None, wait + 15)
        return answer.status, answer.body

    def addresses(self, wait: int, patience: float = 15) -> tuple[int, dict[str, Any]]:
        """Wait at most `wait` seconds until every rank is up; return status and body. Raises Unreachable."""
        answer = self._request("GET", f"/addresses?rank={self._rank}&wait={wait}", None, wait + patience)
        return answer.status, answer.body

    def report(self, body: dict[str, Any], patience: float = 15) -> int:
        """Post a report, and return the HTTP status. Raises Unreachable."""
        data = json.dumps(body).encode()
        return self._request("POST", f"/ranks/{self._rank}/report", data, patience).status

    def send_metrics(
        self, points: list[dict[str, Any]], patience: float, progress: dict[str, Any] | None = None
    ) -> Answer:
        """Send points of metrics, with the job's newest progress; return the service's answer. Raises Unreachable.

        They are packed if the service has said that it takes that. One that was set back to an earlier version refuses
        it, and gets them as they are.
        """
        more = {} if progress is None else {"progress": progress}
        if self._packs and points:
            from binascii import b2a_base64

            from hai_client.metrics.packing import packed

            answer = self._put_metrics({"packed": b2a_base64(packed(points), newline=False).decode(), **more}, patience)
            if answer.status not in (400, 422):
                return answer
            self._packs = False
        answer = self._put_metrics({"points": points, **more}, patience)
        self._packs = answer.body.get("packed_form") == PACKED_FORM
        return answer

    def _put_metrics(self, body: dict[str, Any], patience: float) -> Answer:
        data = json.dumps(body, separators=(",", ":")).encode()
        return self._request("PUT", f"/ranks/{self._rank}/metrics", data, patience)

    def send_log(self, offset: int, data: bytes, *, skip: bool) -> Answer:
        """Send a piece of the log, and return the service's answer. Raises Unreachable.

        Args:
            offset: Position of the piece in the log, bytes.
            data: The piece.
            skip: Whether bytes before it that the service lacks are lost for good, and are to be left out.
        """
        path = f"/ranks/{self._rank}/log?offset={offset}" + ("&skip=true" if skip else "")
        return self._request("PUT", path, data, 30, kind=BYTES)

    def send_trace(self, recording: int, trace: int, offset: int, data: bytes, patience: float) -> Answer:
        """Send a piece of a trace, and return the service's answer. Raises Unreachable."""
        path = f"/ranks/{self._rank}/profiles/{recording}/traces/{trace}?offset={offset}"
        return self._request("PUT", path, data, patience, kind=BYTES)

    def finish_recording(self, recording: int, body: dict[str, Any], patience: float) -> Answer:
        """Report the end of a recording, and return the service's answer. Raises Unreachable."""
        data = json.dumps(body).encode()
        return self._request("PUT", f"/ranks/{self._rank}/profiles/{recording}", data, patience)

    def _request(self, method: str, path: str, data: bytes | None, timeout: float, *, kind: str = JSON) -> Answer:
        # Imported in the thread that needs it: this import costs as much as the rest of the start.
        import http.client

        urls = self._address.urls()
        url = self._address.among(urls)
        scheme, _, rest = url.partition("://")
        host, slash, base = rest.partition("/")
        connect = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
        try:
            connection = connect(host, timeout=timeout)
            try:
                headers = {"Authorization": f"Bearer {self._token}", "Accept": JSON, VERSION_HEADER: __version__}
                if data is not None:
                    headers["Content-Type"] = kind
                connection.request(method, f"{slash}{base}".rstrip("/") + self._run + path, data, headers)
                self._wait(connection, urls, timeout)
                answer = connection.getresponse()
                if answer.status != 204 and "json" not in (answer.getheader("Content-Type") or ""):
                    # Another program has the port: its answer to a report must not count as the service's.
                    raise http.client.HTTPException("this is not the service")
                found = Answer(answer.status, _object(answer.read(1 << 20)), answer.getheader(OFFSET_HEADER))
                after = answer.getheader("Retry-After") or ""
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            self._address.failed()
            raise Unreachable(type(error).__name__) from None
        if found.status == TOO_MANY and after.isdigit():
            # Wait here, so that every caller that repeats a request obeys Retry-After, up to a limit.
            time.sleep(min(float(after), LONGEST_HEED_S, timeout))
        return found

    def _wait(self, connection: HTTPConnection, urls: list[str], timeout: float) -> None:
        """Wait for the answer's first byte, as long as the service has not moved. Raises Unreachable, OSError."""
        import select

        poll = select.poll()
        poll.register(connection.sock, select.POLLIN)
        end = time.monotonic() + timeout
        while not poll.poll(LOOK_EVERY_S * 1000):
            # Compare the whole list, not the current address: a failed call of another thread changes that.
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
