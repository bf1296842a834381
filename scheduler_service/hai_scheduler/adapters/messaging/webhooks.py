"""Webhooks of users: signed requests to addresses on the open Internet, and nowhere else.

An address is resolved here, each address that its name has is checked, and the connection goes to one that was checked:
a name that changes between the two leads nowhere else. A redirect is not followed.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import time
from collections.abc import Callable, Collection, Sequence
from ipaddress import ip_address
from typing import Final

from hai_scheduler.adapters.messaging.signing import signature
from hai_scheduler.core.notifying.addresses import (
    BadAddress,
    HookAddress,
    IpAddress,
    IpNetwork,
    hook_address,
    refusal_of,
)
from hai_scheduler.ports.messengers import OutgoingMessage, Recipient, Undelivered

#: Seconds that a request may take, with the name and the handshake.
WHOLE_S: Final = 10.0
#: Seconds that a name may take when an address is written.
NAME_S: Final = 5.0
#: The most bytes of an answer's first line.
MOST_HEAD: Final = 8192
#: Gone: the receiver wants no more (Standard Webhooks).
_GONE: Final = 410


async def addresses_of(address: HookAddress, allowed: Collection[IpNetwork]) -> Sequence[IpAddress]:
    """Return the IP addresses that messages to this address may go to.

    Args:
        address: The address of the webhook.
        allowed: Private networks that the admin allows.

    Raises:
        BadAddress: Its name is not known, or stands for an address that is refused. One is enough.
        TimeoutError: The name takes too long.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(NAME_S):
            found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        raise BadAddress("has a name that is not known here: check how it is written") from None
    addresses = list(dict.fromkeys(ip_address(str(info[4][0]).partition("%")[0]) for info in found))
    for one in addresses:
        if (why := refusal_of(one, allowed)) is not None:
            raise BadAddress(
                f"stands for {one}, which {why}: name a server that the Internet can reach, or ask an admin to allow "
                "its network (NotificationSettings.webhook_networks)"
            )
    return addresses


class WebhookMessenger:
    """See `ports.messengers.Messenger`."""

    def __init__(
        self, tls: ssl.SSLContext, networks: Collection[IpNetwork] = (), clock: Callable[[], float] = time.time
    ) -> None:
        self._tls = tls
        self._networks = networks
        self._clock = clock

    async def send(self, to: Recipient, message: OutgoingMessage) -> None:
        """See `Messenger.send`. Any status of 200 to 299 means that it was accepted."""
        try:
            address = hook_address(to.address)
            async with asyncio.timeout(WHOLE_S):
                addresses = await addresses_of(address, self._networks)
                status = await self._post(address, addresses, self._request(address, to, message))
        except BadAddress as error:
            raise Undelivered(f"the address {error}") from None
        except TimeoutError:
            raise Undelivered(f"the webhook has not answered within {WHOLE_S:g} s") from None
        except ssl.SSLError as error:
            raise Undelivered(f"the webhook's certificate is not trusted: {error.reason or 'TLS failed'}") from None
        except (OSError, EOFError, ValueError) as error:
            raise Undelivered(f"the webhook cannot be reached: {type(error).__name__}") from None
        if 300 <= status < 400:
            raise Undelivered(f"the webhook answers {status}, a redirect, which is not followed: write the new address")
        if not 200 <= status < 300:
            raise Undelivered(f"the webhook answers {status}", hopeless=status == _GONE)

    def _request(self, address: HookAddress, to: Recipient, message: OutgoingMessage) -> bytes:
        body = json.dumps(message.payload, ensure_ascii=False, sort_keys=True).encode()
        now = int(self._clock())
        lines = [
            f"POST {address.target} HTTP/1.1",
            f"Host: {address.authority}",
            "User-Agent: HAI",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "Connection: close",
            f"webhook-id: {message.id}",
            f"webhook-timestamp: {now}",
        ]
        if to.secret is not None:
            lines.append(f"webhook-signature: {signature(to.secret.reveal(), message.id, now, body)}")
        return "\r\n".join([*lines, "", ""]).encode() + body

    async def _post(self, address: HookAddress, addresses: Sequence[IpAddress], request: bytes) -> int:
        """Send the request to the first address that answers; returns the status."""
        reader, writer = await self._connect(address, addresses)
        try:
            writer.write(request)
            await writer.drain()
            return _status(await reader.readuntil(b"\r\n"))
        except asyncio.LimitOverrunError:
            raise ValueError("the answer is no HTTP") from None
        finally:
            # The rest of the answer is not read. On Python 3.11.2, `abort` fails on a transport that was closed before.
            writer.transport.abort()

    async def _connect(
        self, address: HookAddress, addresses: Sequence[IpAddress]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        failed: OSError = OSError("there is no address")
        for one in addresses:
            try:
                return await asyncio.open_connection(
                    str(one), address.port, ssl=self._tls, server_hostname=address.host, limit=MOST_HEAD
                )
            except OSError as error:
                failed = error
        raise failed


def _status(line: bytes) -> int:
    """The status in the first line of an answer. Raises ValueError if it is no HTTP."""
    version, _, rest = line.partition(b" ")
    code = rest[:3]
    if not version.startswith(b"HTTP/1.") or len(code) != 3 or not code.isdigit():
        raise ValueError("the answer is no HTTP")
    return int(code)
