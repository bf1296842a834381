"""Messages between the ranks of one run: `srun` starts tasks on all nodes through them.

Both sides must know the token of the run, which only its ranks have, in a file. Neither side sends the token: each
proves that it knows it (HMAC-SHA256 over random numbers of both sides). Every message is signed with a key of that
connection and its number, so that another process cannot add, change or repeat one. Messages are not encrypted, as
between Slurm's own daemons: a listener on the network between the ranks can read what the tasks print.
"""
# ruff: noqa: PTH123

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import queue
import socket
import struct
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The first bytes of every connection: what it is, and in which version.
GREETING = b"HAI-STEP-1\n"
#: The largest message, bytes: a command with its variables.
MAX_MESSAGE = 16 * 1024 * 1024
#: How long either side waits for the other to prove itself, seconds in all.
HANDSHAKE_S = 3.0
#: The longest pause between two tries to connect, seconds.
PAUSE_S = 0.5
#: Number of ports, computed from the run, at one of which rank 0 listens; ports that other programs use are skipped.
PORTS = 16
_FIRST_PORT, _LAST_PORT = 10_000, 29_999
_NONCE = 32
_MAC = 32
_HEAD = struct.Struct(">BI")
_JSON, _OUTPUT = 0, 1
_OUTPUT_HEAD = struct.Struct(">IB")


class WireError(Exception):
    """The other side does not belong to this run, or violates the protocol."""


class Closed(Exception):
    """The other side has closed the connection."""


class Output:
    """Output of a step: its number, the stream (1 or 2), and the data."""

    __slots__ = ("data", "step", "stream")

    def __init__(self, step: int, stream: int, data: bytes) -> None:
        self.step = step
        self.stream = stream
        self.data = data


def read_token(env: Any) -> bytes:
    """Return the token of the run that these variables belong to. Raises OSError, KeyError."""
    with open(env["HAI_TOKEN_FILE"], "rb") as file:
        return file.read().strip()


def ports(run_id: str) -> list[int]:
    """Return the ports that the run's server may use, in the order in which it tries them."""
    seed = hashlib.sha256(f"hai step {run_id}".encode()).digest()
    first = int.from_bytes(seed[:4], "big")
    size = _LAST_PORT - _FIRST_PORT + 1
    return [_FIRST_PORT + (first + 131 * number) % size for number in range(PORTS)]


class Channel:
    """A connection whose sides have proved that they belong to the run. All threads may send; one thread receives."""

    def __init__(self, sock: socket.socket, own_key: bytes, other_key: bytes) -> None:
        self._sock = sock
        self._own_key = own_key
        self._other_key = other_key
        self._sent = 0
        self._received = 0
        self._lock = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message. Raises Closed."""
        self._send(_JSON, json.dumps(message).encode())

    def send_output(self, step: int, stream: int, data: bytes) -> None:
        """Send output of a step. Raises Closed."""
        self._send(_OUTPUT, _OUTPUT_HEAD.pack(step, stream) + data)

    def _send(self, kind: int, body: bytes) -> None:
        if len(body) > MAX_MESSAGE:
            raise WireError(f"a message of {len(body)} bytes is too long; at most {MAX_MESSAGE} are sent")
        with self._lock:
            head = _HEAD.pack(kind, len(body))
            mac = _sign(self._own_key, self._sent, head, body)
            self._sent += 1
            try:
                self._sock.sendall(head + mac + body)
            except OSError:
                raise Closed from None

    def receive(self) -> dict[str, Any] | Output:
        """Wait for the next message. Raises Closed, WireError."""
        head = _read(self._sock, _HEAD.size)
        kind, size = _HEAD.unpack(head)
        if size > MAX_MESSAGE:
            raise WireError(f"a message of {size} bytes is too long")
        mac = _read(self._sock, _MAC)
        body = _read(self._sock, size)
        if not hmac.compare_digest(mac, _sign(self._other_key, self._received, head, body)):
            raise WireError("a message was not signed by this run")
        self._received += 1
        if kind == _OUTPUT and size >= _OUTPUT_HEAD.size:
            step, stream = _OUTPUT_HEAD.unpack(body[: _OUTPUT_HEAD.size])
            return Output(step, stream, body[_OUTPUT_HEAD.size :])
        message = json.loads(body)
        if not isinstance(message, dict):
            raise WireError("a message is no JSON object")
        return message

    def close(self) -> None:
        """Close the connection; a thread that waits for a message gets `Closed`."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()


def accept(sock: socket.socket, token: bytes, run_id: str) -> Channel:
    """Accept a new connection on the server's side. Raises Closed, WireError."""
    mine, until = os.urandom(_NONCE), time.monotonic() + HANDSHAKE_S
    sock.settimeout(HANDSHAKE_S)
    try:
        sock.sendall(GREETING + mine)
        answer = _read(sock, _NONCE + _MAC, until)
        theirs, proof = answer[:_NONCE], answer[_NONCE:]
        secret = _secret(token, run_id, mine, theirs)
        if not hmac.compare_digest(proof, _proof(secret, b"client")):
            raise WireError("a connection was refused: it does not know the token of this run")
        sock.sendall(_proof(secret, b"server"))
        sock.settimeout(None)
    except OSError:
        raise Closed from None
    return Channel(sock, _proof(secret, b"server key"), _proof(secret, b"client key"))


def connect(host: str, port: int, token: bytes, run_id: str) -> Channel:
    """Open the client's side of a connection. Raises Closed, WireError, OSError (no process listens)."""
    until = time.monotonic() + HANDSHAKE_S
    sock = socket.create_connection((host, port), timeout=HANDSHAKE_S)
    try:
        greeting = _read(sock, len(GREETING) + _NONCE, until)
        if not greeting.startswith(GREETING):
            raise WireError("something else listens there")
        theirs, mine = greeting[len(GREETING) :], os.urandom(_NONCE)
        secret = _secret(token, run_id, theirs, mine)
        sock.sendall(mine + _proof(secret, b"client"))
        if not hmac.compare_digest(_read(sock, _MAC, until), _proof(secret, b"server")):
            raise WireError("the server there does not know the token of this run")
        sock.settimeout(None)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    except BaseException:
        sock.close()
        raise
    return Channel(sock, _proof(secret, b"client key"), _proof(secret, b"server key"))


def find(host: str, token: bytes, run_id: str, patience_s: float = 0.0) -> Channel | None:
    """Connect to the run's server on one of its ports; None: no server listens (yet), or none has proved itself.

    Args:
        host: Where it listens.
        token: The token of the run.
        run_id: The run.
        patience_s: How long to try again while something listens: a server that many strangers connect to closes some
            of its own run as well.
    """
    until = time.monotonic() + patience_s
    while True:
        channel, listening = _try_all(host, token, run_id)
        left = until - time.monotonic()
        if channel is not None or not listening or left <= 0:
            return channel
        # Not all clients at the same moments.
        time.sleep(min(left, PAUSE_S * (1 + os.urandom(1)[0]) / 256))


def _try_all(host: str, token: bytes, run_id: str) -> tuple[Channel | None, bool]:
    """Try all ports at once, as other programs may listen at some and say nothing. Return whether anything listens."""
    found: queue.SimpleQueue[Channel | bool] = queue.SimpleQueue()

    def try_one(port: int) -> None:
        try:
            found.put(connect(host, port, token, run_id))
        except ConnectionRefusedError:
            found.put(False)
        except (OSError, Closed, WireError):
            found.put(True)

    tried = ports(run_id)
    for port in tried:
        threading.Thread(target=try_one, args=(port,), name="connect", daemon=True).start()
    listening = False
    for _ in tried:
        result = found.get()
        if isinstance(result, Channel):
            return result, True
        listening = listening or result
    return None, listening


def listen(host: str, run_id: str) -> socket.socket:
    """Listen on the first free port of the run, and return the socket. Raises OSError."""
    problem: OSError | None = None
    for port in ports(run_id):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
            sock.listen(128)
        except OSError as error:
            sock.close()
            problem = error
            continue
        return sock
    raise problem or OSError("no port is free")


def _secret(token: bytes, run_id: str, server: bytes, client: bytes) -> bytes:
    return hmac.new(token, b"hai step\0" + run_id.encode() + b"\0" + server + client, hashlib.sha256).digest()


def _proof(secret: bytes, what: bytes) -> bytes:
    return hmac.new(secret, what, hashlib.sha256).digest()


def _sign(key: bytes, number: int, head: bytes, body: bytes) -> bytes:
    signer = hmac.new(key, struct.pack(">Q", number) + head, hashlib.sha256)
    signer.update(body)
    return signer.digest()


def _read(sock: socket.socket, size: int, until: float | None = None) -> bytes:
    """Return exactly `size` bytes, which must have come by `until` of the monotonic clock. Raises Closed."""
    parts: list[bytes] = []
    while size:
        try:
            if until is not None:
                # Zero would mean not to wait at all, and is another error.
                sock.settimeout(max(0.001, until - time.monotonic()))
            part = sock.recv(min(size, 1 << 20))
        except OSError:
            raise Closed from None
        if not part:
            raise Closed
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
