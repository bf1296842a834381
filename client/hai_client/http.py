"""HTTP over urllib: JSON in and out; problem documents become errors; calls are repeated while the platform restarts.

Redirects are not followed: urllib would carry the token along to wherever they point.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from email.message import Message
from typing import Any, Union
from typing import Mapping as Table
from urllib.parse import urlencode, urlsplit

from hai_client.backports import dataclass
from hai_client.errors import FieldProblem, HaiError, Invalid, Unavailable, kind_of
from hai_client.version import VERSION_HEADER, __version__

Query = Table[str, Union[str, int, None]]

#: Waits between the tries of a call while the platform restarts, which takes seconds: half a minute in all.
DELAYS_S = (0.2, 0.5, 1.0, *(2.0,) * 14)
#: How many of these waits a call gets when the cause is no restart, for example a host name that is not resolved.
FEW = 3
#: The platform may ask for a longer wait, but not for more than this.
LONGEST_WAIT_S = 10.0
#: How long a call is repeated while the platform refuses it with 429, and the longest single wait, seconds.
BUSY_PATIENCE_S = 120.0
LONGEST_BUSY_WAIT_S = 60.0
#: The `code` of a proxy's answer when no service has got the request.
RESTARTING = "restarting"
#: The HTTP status for too many requests at once.
TOO_MANY = 429
#: Statuses that a proxy, or the Hub in the service's place, may answer with while the service is away.
_AWAY = (None, 404, 405, 502, 503, 504)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LOST = (OSError, http.client.HTTPException)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Transport:
    """Calls under one base address with one token."""

    base: str
    token: str | None = field(default=None, repr=False)
    timeout_s: float = 30.0
    delays_s: Sequence[float] = DELAYS_S
    sleep: Callable[[float], None] = time.sleep
    #: Called before each wait with the reason, and the seconds that the call has waited already.
    waiting: Callable[[Unavailable, float], None] | None = None
    proxies: bool = True  #: Whether requests to other machines may go through a proxy of the environment (http_proxy).
    language: str = ""  #: The language that answers shall be in, as `Accept-Language` names it; empty: any.
    #: Called with the version that an answer says it is from, as it was sent: anything can stand there.
    heard: Callable[[str], None] | None = None
    _opener: urllib.request.OpenerDirector = field(init=False, repr=False)

    def __post_init__(self) -> None:
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        # Requests to this machine's own ports must not go through a site-wide http_proxy.
        if not self.proxies or urlsplit(self.base).hostname in _LOOPBACK:
            handlers.append(urllib.request.ProxyHandler({}))
        object.__setattr__(self, "_opener", urllib.request.build_opener(*handlers))

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        again: bool | None = None,
    ) -> Any:
        """Make a call and return the decoded JSON of its answer.

        Args:
            method: The HTTP method.
            path: The path below the base address, already quoted.
            query: Query parameters; those that are None are left out.
            body: What to send: bytes as they are, anything else as JSON. None is no body.
            headers: Further headers.
            again: Whether the call may be repeated when the connection was lost in the middle. By default
                GET and PUT may. A call that never got through is repeated in any case.

        Returns:
            The decoded answer; None for an empty one.

        Raises:
            HaiError: The kind that fits the answer; `Unavailable` when there was none for all of `delays_s`, or when
                the platform has refused the call for two minutes because the caller asks for too much.
        """
        request = self._request(method, path, query, body, headers)
        repeatable = method in ("GET", "PUT") if again is None else again
        return self._decode(self._answer(request, repeatable=repeatable))

    def _answer(self, request: urllib.request.Request, *, repeatable: bool) -> bytes:
        """Return the answer of a call, which is repeated as `call` says."""
        tries, waited = 0, 0.0
        while True:
            try:
                with self._open(request, self.timeout_s) as response:
                    return response.read()
            except Unavailable as error:
                problem = error
            except _LOST as error:
                problem = self._unreachable(error)
                problem.__cause__ = error
            wait = self._wait(problem, tries, waited, repeatable)
            if wait is None:
                raise problem
            if self.waiting is not None:
                self.waiting(problem, waited)
            self.sleep(wait)
            tries, waited = tries + 1, waited + wait

    def fetch(self, path: str, *, query: Query | None = None) -> bytes:
        """Make a call that reads, and return its answer as it is. Raises HaiError, as `call` does."""
        return bytes(self._answer(self._request("GET", path, query, None, {"Accept": "*/*"}), repeatable=True))

    def _wait(self, problem: Unavailable, tries: int, waited: float, repeatable: bool) -> float | None:
        """Return the seconds until the next try; None: do not try again."""
        if problem.status == TOO_MANY:
            return self._wait_for_turn(problem, tries, waited)
        if _hopeless(problem.__cause__) or not (repeatable or _never_sent(problem)):
            return None
        most = len(self.delays_s) if _is_gap(problem) else min(FEW, len(self.delays_s))
        if tries >= most or waited >= sum(self.delays_s):
            return None
        return max(self.delays_s[tries], min(problem.retry_after_s or 0.0, LONGEST_WAIT_S))

    def _wait_for_turn(self, problem: Unavailable, tries: int, waited: float) -> float | None:
        """Return the same for status 429: the platform has not read the request, so any request can be repeated."""
        if waited >= BUSY_PATIENCE_S or not self.delays_s:
            return None
        delay = self.delays_s[min(tries, len(self.delays_s) - 1)]
        return max(delay, min(problem.retry_after_s or 0.0, LONGEST_BUSY_WAIT_S))

    def stream(
        self,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        silence_s: float = 60.0,
    ) -> http.client.HTTPResponse:
        """Open an answer to be read line by line; the caller closes it.

        Args:
            path: The path below the base address, already quoted.
            query: Query parameters.
            body: What to send with POST, as for `call`; None: the answer is asked for with GET.
            headers: Further headers.
            silence_s: Reading fails when nothing at all came for this long, seconds.

        Raises:
            HaiError: As for `call`; nothing is tried again here.
        """
        accept = {"Accept": "text/event-stream", "Cache-Control": "no-store", **(headers or {})}
        method = "GET" if body is None else "POST"
        return self._open(self._request(method, path, query, body, accept), silence_s)

    def _request(
        self, method: str, path: str, query: Query | None, body: Any, headers: Mapping[str, str] | None
    ) -> urllib.request.Request:
        url = self.base + path
        wanted = {key: str(value) for key, value in (query or {}).items() if value is not None}
        if wanted:
            url += "?" + urlencode(wanted, errors="replace")
        sent = {"Accept": "application/json", "User-Agent": "hai-client", VERSION_HEADER: __version__}
        data: bytes | None = None
        if isinstance(body, bytes):
            data = body
        elif body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        elif method not in ("GET", "DELETE"):
            data = b""
        if self.language:
            sent["Accept-Language"] = self.language
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        sent.update(headers or {})
        # The scheme was checked when the address was read: http or https only.
        return urllib.request.Request(url, data=data, headers=sent, method=method)  # noqa: S310

    def _open(self, request: urllib.request.Request, timeout_s: float) -> http.client.HTTPResponse:
        try:
            response: http.client.HTTPResponse = self._opener.open(request, timeout=timeout_s)
        except urllib.error.HTTPError as error:
            with error:
                self._hear(error.headers)
                raise self._problem(error) from None
        except urllib.error.URLError as error:
            cause = error.reason if isinstance(error.reason, BaseException) else error
            raise self._unreachable(cause) from cause
        except _LOST as error:
            raise self._unreachable(error) from error
        self._hear(response.headers)
        return response

    def _hear(self, headers: Message) -> None:
        version = headers.get(VERSION_HEADER)
        if version is not None and self.heard is not None:
            self.heard(str(version))

    def _decode(self, content: bytes) -> Any:
        if not content.strip():
            return None
        try:
            return json.loads(content)
        except ValueError:
            raise Unavailable(
                f"{self.base} answered with something else than JSON; is the address right?", status=200
            ) from None

    def _problem(self, error: urllib.error.HTTPError) -> HaiError:
        status = error.code
        if 300 <= status < 400:
            return self._moved(error.headers.get("Location", ""))
        try:
            found = json.loads(error.read())
        except (ValueError, *_LOST):
            found = None
        after = error.headers.get("Retry-After", "")
        retry_after_s = float(after) if after.isascii() and after.isdigit() else None
        if not isinstance(found, dict):
            return self._strange(status, retry_after_s)
        # `detail` is ours, `message` the Hub's.
        text = found.get("detail") or found.get("message") or found.get("title") or f"status {status}"
        code = found.get("code") if isinstance(found.get("code"), str) else None
        fields = _field_problems(found.get("errors"))
        message = _with_fields(str(text), fields)
        return kind_of(status, code)(message, code=code, status=status, fields=fields, retry_after_s=retry_after_s)

    def _moved(self, location: str) -> HaiError:
        there, here = urlsplit(location), urlsplit(self.base)
        if there.netloc and (there.scheme, there.netloc) != (here.scheme, here.netloc):
            where = f"{there.scheme or here.scheme}://{there.netloc}"
            return Invalid(f"url: {here.scheme}://{here.netloc} points on to {where}; use that address")
        # The Hub redirects a request for a service that is not there to itself.
        return Unavailable(f"{self.base} does not answer now; is HAI running at this Hub, and the address right?")

    def _strange(self, status: int, retry_after_s: float | None) -> HaiError:
        """Return the error for an answer that is not the service's: by a proxy, a web server, or the Hub."""
        if status in _AWAY:
            message = f"{self.base} does not answer now (status {status}); is the platform up there?"
            return Unavailable(message, status=status, retry_after_s=retry_after_s)
        return kind_of(status)(f"{self.base} answered with status {status} and no word why", status=status)

    def _unreachable(self, cause: BaseException) -> Unavailable:
        parts = urlsplit(self.base)
        where = f"{parts.scheme}://{parts.netloc}"
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Unavailable(f"cannot trust {where}: {cause.verify_message}; SSL_CERT_FILE names a CA bundle")
        why = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
        return Unavailable(f"cannot reach {where}: {why.lower()}; is the platform up, and HAI_URL or --url right?")


def _never_sent(problem: Unavailable) -> bool:
    """Return whether the service has certainly not seen the request."""
    return problem.code == RESTARTING or isinstance(problem.__cause__, ConnectionRefusedError)


def _is_gap(problem: Unavailable) -> bool:
    """Return whether the error looks like a restart of the platform, which is worth waiting for."""
    cause = problem.__cause__
    return problem.status in _AWAY if cause is None else isinstance(cause, (ConnectionError, http.client.HTTPException))


def _hopeless(cause: BaseException | None) -> bool:
    """Return whether another try is useless: the call has timed out already, or the certificate is not trusted."""
    # Before Python 3.10 a socket's timeout is another class.
    return isinstance(cause, (TimeoutError, socket.timeout, ssl.SSLCertVerificationError))


def _field_problems(found: Any) -> tuple[FieldProblem, ...]:
    if not isinstance(found, list):
        return ()
    return tuple(
        FieldProblem(str(item.get("field", "")), item.get("value"), str(item.get("message", "")))
        for item in found
        if isinstance(item, dict)
    )


def _with_fields(text: str, fields: Sequence[FieldProblem]) -> str:
    """Return the sentence, followed by the messages of fields that are not part of it already."""
    further = [f"{item.field}: {item.message}" for item in fields if item.message and item.message not in text]
    return "; ".join([text.rstrip(". "), *further]) if further else text
