"""One request to a provider of logins, by the proxy of the Hub's environment if there is one.

tornado's own client knows no proxy, and the one by curl would be one more library to keep up to date.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from functools import cache
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import aiohttp
from tornado.httpclient import HTTPRequest
from tornado.httputil import HTTPHeaders

#: Bytes of an answer.
_BYTES: Final = 1024 * 1024


class Unreached(Exception):
    """There was no answer; `untrusted`: because of a certificate."""

    def __init__(self, why: str, *, untrusted: bool = False) -> None:
        super().__init__(why)
        self.untrusted = untrusted


@dataclass(frozen=True, slots=True)
class ProviderAnswer:
    """What a provider has answered, whatever its status."""

    code: int
    body: bytes


def proxy_for(url: str) -> str | None:
    """Return the proxy for a URL, by the variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY; None: none."""
    parts = urlsplit(url)
    if proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxies = getproxies_environment()
    return proxies.get(parts.scheme) or proxies.get("all") or None


async def send(request: HTTPRequest, *, connect_s: float, answer_s: float) -> ProviderAnswer:
    """Send a request as oauthenticator makes it, and follow no redirect: it would take a secret to another address.

    Args:
        request: Its method, URL, headers and body, and which certificates count.
        connect_s: Seconds for a connection.
        answer_s: Seconds for all.

    Raises:
        Unreached: There was no answer.
    """
    proxy = proxy_for(request.url)
    by = f" by the proxy {_place(proxy)}" if proxy else ""
    timeout = aiohttp.ClientTimeout(total=answer_s, sock_connect=connect_s)
    trusted = _trusted(str(request.ca_certs or ""), request.validate_cert is not False)
    # A body is a form, as it is for tornado's client, unless a header says something else.
    headers = HTTPHeaders(request.headers)
    if request.body:
        headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
    # Proxies are not left to the session: it would also send what a .netrc file says to the provider.
    session = aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())
    try:
        async with (
            session,
            session.request(
                request.method,
                request.url,
                headers=dict(headers),
                data=request.body,
                allow_redirects=False,
                proxy=proxy,
                ssl=trusted,
            ) as answer,
        ):
            return ProviderAnswer(answer.status, await _body(answer))
    except TimeoutError:
        raise Unreached(f"no answer within {answer_s:g} s{by}") from None
    except aiohttp.ClientHttpProxyError as error:
        raise Unreached(f"status {error.status}{by}") from None
    except aiohttp.ClientSSLError as error:
        raise Unreached(f"{type(error).__name__}: {_reason(error)}{by}", untrusted=True) from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        # Their own texts may repeat a header.
        raise Unreached(f"{_reason(error)}{by}") from None


async def _body(answer: aiohttp.ClientResponse) -> bytes:
    found = bytearray()
    async for piece in answer.content.iter_chunked(64 * 1024):
        found += piece
        if len(found) > _BYTES:
            raise Unreached(f"its answer is longer than {_BYTES} bytes")
    return bytes(found)


@cache
def _trusted(authorities: str, check: bool) -> ssl.SSLContext:
    """Return which certificates count: those of a file, else those of SSL_CERT_FILE and the system."""
    context = ssl.create_default_context(cafile=authorities or None)
    if not check:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _place(proxy: str) -> str:
    """Return the address of a proxy without user and password."""
    parts = urlsplit(proxy)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _reason(error: BaseException) -> str:
    """Return what the network says; for anything else its kind alone."""
    cause = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    if isinstance(cause, ssl.SSLError):
        return f"{getattr(cause, 'verify_message', '') or cause.reason}"
    return f"{cause.strerror or type(error).__name__}" if isinstance(cause, OSError) else type(error).__name__
