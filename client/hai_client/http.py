"""HTTP over urllib: JSON in and out, problem documents become errors, safe calls are tried again.

Redirects are not followed: urllib would carry the token along to wherever they point.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from hai_client.errors import FieldProblem, HaiError, Invalid, Unavailable, kind_of

Query = Mapping[str, str | int | None]

#: Waits before the second, third and fourth try of a call that can be repeated safely.
DELAYS_S = (0.2, 0.5, 1.0)
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
    _opener: urllib.request.OpenerDirector = field(init=False, repr=False)

    def __post_init__(self) -> None:
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if urlsplit(self.base).hostname in _LOOPBACK:
            # A site-wide http_proxy has no business with this machine's own ports.
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
            HaiError: The kind that fits the answer; `Unavailable` when there was none.
        """
        request = self._request(method, path, query, body, headers)
        repeatable = method in ("GET", "PUT") if again is None else again
        for delay in (*self.delays_s, None):
            try:
                with self._open(request, self.timeout_s) as response:
                    return self._decode(response.read())
            except Unavailable as error:
                if delay is None or _silent(error.__cause__) or not (repeatable or _never_sent(error.__cause__)):
                    raise
            except _LOST as error:
                if delay is None or _silent(error) or not repeatable:
                    raise self._unreachable(error) from error
            self.sleep(delay)
        raise AssertionError("unreachable")

    def stream(
        self,
        path: str,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        silence_s: float = 60.0,
    ) -> http.client.HTTPResponse:
        """Open an answer to be read line by line; the caller closes it.

        Args:
            path: The path below the base address, already quoted.
            query: Query parameters.
            headers: Further headers.
            silence_s: Reading fails when nothing at all came for so long.

        Raises:
            HaiError: As for `call`; nothing is tried again here.
        """
        accept = {"Accept": "text/event-stream", "Cache-Control": "no-store", **(headers or {})}
        return self._open(self._request("GET", path, query, None, accept), silence_s)

    def _request(
        self, method: str, path: str, query: Query | None, body: Any, headers: Mapping[str, str] | None
    ) -> urllib.request.Request:
        url = self.base + path
        wanted = {key: str(value) for key, value in (query or {}).items() if value is not None}
        if wanted:
            url += "?" + urlencode(wanted, errors="replace")
        sent = {"Accept": "application/json", "User-Agent": "hai-client"}
        data: bytes | None = None
        if isinstance(body, bytes):
            data = body
        elif body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        elif method not in ("GET", "DELETE"):
            data = b""
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
                raise self._problem(error) from None
        except urllib.error.URLError as error:
            cause = error.reason if isinstance(error.reason, BaseException) else error
            raise self._unreachable(cause) from cause
        except _LOST as error:
            raise self._unreachable(error) from error
        return response

    def _decode(self, content: bytes) -> Any:
        if not content.strip():
            return None
        try:
            return json.loads(content)
        except ValueError:
            raise Unavailable(f"{self.base} answered with something else than JSON; is the address right?") from None

    def _problem(self, error: urllib.error.HTTPError) -> HaiError:
        status = error.code
        if 300 <= status < 400:
            return self._moved(error.headers.get("Location", ""))
        try:
            found = json.loads(error.read())
        except (ValueError, *_LOST):
            found = None
        if not isinstance(found, dict):
            return self._strange(status)
        # `detail` is ours, `message` the Hub's.
        text = found.get("detail") or found.get("message") or found.get("title") or f"status {status}"
        code = found.get("code") if isinstance(found.get("code"), str) else None
        fields = _field_problems(found.get("errors"))
        return kind_of(status, code)(_with_fields(str(text), fields), code=code, status=status, fields=fields)

    def _moved(self, location: str) -> HaiError:
        there, here = urlsplit(location), urlsplit(self.base)
        if there.netloc and (there.scheme, there.netloc) != (here.scheme, here.netloc):
            where = f"{there.scheme or here.scheme}://{there.netloc}"
            return Invalid(f"url: {here.scheme}://{here.netloc} points on to {where}; use that address")
        # The Hub sends those on to itself who ask for a service that is not there.
        return Unavailable(f"{self.base} does not answer now; is HAI running at this Hub, and the address right?")

    def _strange(self, status: int) -> HaiError:
        """An answer by something else than the service: a proxy, a web server, the Hub while we are away."""
        if status in (404, 405, 502, 503, 504):
            return Unavailable(f"{self.base} does not answer now (status {status}); is the platform up there?")
        return kind_of(status)(f"{self.base} answered with status {status} and no word why", status=status)

    def _unreachable(self, cause: BaseException) -> Unavailable:
        parts = urlsplit(self.base)
        where = f"{parts.scheme}://{parts.netloc}"
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Unavailable(f"cannot trust {where}: {cause.verify_message}; SSL_CERT_FILE names a CA bundle")
        why = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
        return Unavailable(f"cannot reach {where}: {why.lower()}; is the platform up, and HAI_URL or --url right?")


def _never_sent(cause: BaseException | None) -> bool:
    return isinstance(cause, ConnectionRefusedError)


def _silent(cause: BaseException | None) -> bool:
    """Whether nothing came for the whole time: whoever has waited that long should be told, not wait it again."""
    return isinstance(cause, TimeoutError)


def _field_problems(found: Any) -> tuple[FieldProblem, ...]:
    if not isinstance(found, list):
        return ()
    return tuple(
        FieldProblem(str(item.get("field", "")), item.get("value"), str(item.get("message", "")))
        for item in found
        if isinstance(item, dict)
    )


def _with_fields(text: str, fields: Sequence[FieldProblem]) -> str:
    """The sentence, followed by those of the fields that it does not name itself."""
    further = [f"{item.field}: {item.message}" for item in fields if item.message and item.message not in text]
    return "; ".join([text.rstrip(". "), *further]) if further else text
