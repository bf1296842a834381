"""Says in the log that a command waits for an address which the network policies of the cluster keep from it.

Policies drop packets, so a program hears nothing: it waits for minutes, or for its own timeout, and does not know why.
"""
# ruff: noqa: PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from ipaddress import IPv4Address, IPv6Address

#: The connections of the rank's network, as the kernel shows them (`proc_pid_net(5)`).
TABLES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
#: How the kernel writes a connection that waits for the first answer.
_SYN_SENT = "02"
#: After how many looks in a row that find such a connection it is said.
LOOKS = 3
#: How much of the end of the output is kept, bytes.
_END = 4096
#: What programs print when a host was not found, or did not answer.
_UNREACHED = re.compile(
    rb"ETIMEDOUT|ENETUNREACH|ConnectTimeout|connect(?:ion)?(?: to \S{1,200})?(?: has)? timed ?out|connection timeout"
    rb"|(?:couldn't|could not) connect to server|network is unreachable"
    rb"|name or service not known|temporary failure in name resolution|could not resolve host|ENOTFOUND|EAI_AGAIN",
    re.IGNORECASE,
)
#: By what ranks reach: why there is no answer, and what to do.
_WHY = {
    "none": "tasks of this platform do not reach the internet: bring packages and data before, in an environment or on"
    " shared storage, or name a mirror that is not outside",
    "proxy": "tasks of this platform reach the internet by the proxy alone that HTTPS_PROXY names: let the program use"
    " it",
}


class ClosedNetwork:
    """Looks at the connections and the output of a command on a network that is closed, and says so once.

    Args:
        internet: What ranks reach: `none` or `proxy`; for anything else nothing is said.
        say: Writes a line into the log.
    """

    def __init__(self, internet: str, say: Callable[[str], None]) -> None:
        self._why = _WHY.get(internet)
        self._say = say
        self._in_a_row = 0
        self._end = b""

    def look(self, tables: Iterable[str] = TABLES) -> None:
        """Look for a connection to a public address that gets no answer."""
        if self._why is None:
            return
        waiting = next(_waiting(tables), None)
        self._in_a_row = self._in_a_row + 1 if waiting else 0
        if waiting and self._in_a_row >= LOOKS:
            self._tell(f"a connection to {waiting} gets no answer, and")

    def printed(self, data: bytes) -> None:
        """Take a piece of the command's output."""
        if self._why is not None:
            self._end = (self._end + data[-_END:])[-_END:]

    def ended(self, code: int | None) -> None:
        """Look at the last words of a command that has ended with this status."""
        if self._why is not None and code and _UNREACHED.search(self._end):
            self._tell("if that was an address outside of the cluster:")

    def _tell(self, beginning: str) -> None:
        self._say(f"{beginning} {self._why}")
        self._why = None
        self._end = b""


def _waiting(tables: Iterable[str]) -> Iterator[str]:
    """Yield the public addresses that wait for the first answer: address and port."""
    for table in tables:
        try:
            with open(table, encoding="ascii") as file:
                rows = [line.split(None, 4) for line in file]
        except (OSError, ValueError):
            continue
        for row in rows:
            if len(row) > 3 and row[3] == _SYN_SENT:
                address, port = place_of(row[2])
                if address is not None and address.is_global:
                    yield f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def place_of(place: str) -> tuple[IPv4Address | IPv6Address | None, int]:
    """Return the address and port that the kernel writes in hexadecimal digits; None: it is none."""
    # Imported here: few commands ever wait for such an address.
    import socket
    import sys
    from ipaddress import ip_address

    digits, _, port = place.partition(":")
    try:
        words = [bytes.fromhex(digits[at : at + 8]) for at in range(0, len(digits), 8)]
        # Each word of 32 bits is in the order of the machine.
        raw = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
        address = ip_address(socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw))
        number = int(port, 16)
    except ValueError:
        return None, 0
    return getattr(address, "ipv4_mapped", None) or address, number
