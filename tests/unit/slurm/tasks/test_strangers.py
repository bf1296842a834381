"""The server of a batch job serves its own run, also while others connect and prove nothing."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from hai_slurm.tasks import strangers, wire
from hai_slurm.tasks.server import StepServer
from hai_slurm.tasks.wire import Channel
from kit.waiting import wait_for

TOKEN, RUN = b"run:secret", "41.2"


@pytest.fixture(autouse=True)
def _endless(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody is let go by time in these tests: what works here does not wait for it.
    monkeypatch.setattr(wire, "HANDSHAKE_S", 3600.0)


@pytest.fixture
def server() -> Iterator[socket.socket]:
    sock = socket.create_server(("127.0.0.1", 0), backlog=128)
    StepServer(sock, TOKEN, RUN, nodes=2, told=lambda: False).begin()
    yield sock
    # A thread that waits in `accept` sees this, and not that the socket is closed.
    sock.shutdown(socket.SHUT_RDWR)
    sock.close()


@pytest.fixture
def opened() -> Iterator[list[socket.socket]]:
    made: list[socket.socket] = []
    yield made
    for sock in made:
        sock.close()


def stranger(server: socket.socket, peer: str) -> socket.socket:
    """A connection from an address that has been greeted and says nothing."""
    sock = socket.create_connection(server.getsockname(), source_address=(peer, 0))
    greeting = b""
    while len(greeting) < len(wire.GREETING) + 32:
        greeting += sock.recv(100)
    return sock


def is_open(sock: socket.socket) -> bool:
    sock.setblocking(False)
    try:
        return sock.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


@pytest.mark.parametrize("peers", [("127.0.0.1",), ("127.0.0.2",), ("127.0.0.2", "127.0.0.3")])
def test_one_of_the_run_is_served_however_many_strangers_wait(
    server: socket.socket, opened: list[socket.socket], peers: tuple[str, ...]
) -> None:
    opened.extend(stranger(server, peers[number % len(peers)]) for number in range(3 * strangers.MOST))
    channel = wire.connect(*server.getsockname(), TOKEN, RUN)
    channel.send({"role": "node", "node": 1})
    wait_for("strangers beyond the limit to be closed", lambda: sum(map(is_open, opened)) <= strangers.MOST)
    channel.close()


def test_a_crowd_from_one_address_takes_the_place_of_none_from_another(
    server: socket.socket, opened: list[socket.socket]
) -> None:
    slow = stranger(server, "127.0.0.3")
    opened.extend(stranger(server, "127.0.0.2") for _ in range(2 * strangers.MOST))
    wait_for("the crowd to be cut", lambda: sum(map(is_open, opened)) < strangers.MOST)
    assert is_open(slow)
    slow.close()


def test_who_has_proved_itself_is_no_stranger_any_more(server: socket.socket, opened: list[socket.socket]) -> None:
    channel = wire.connect(*server.getsockname(), TOKEN, RUN)
    channel.send({"role": "step"})
    opened.extend(stranger(server, "127.0.0.1") for _ in range(2 * strangers.MOST))
    channel.send({"nodes": [7], "counts": [1]})
    with contextlib.suppress(wire.Closed):
        channel.receive()
    channel.close()
    wait_for("the crowd to be cut", lambda: sum(map(is_open, opened)) == strangers.MOST)


def test_programs_that_listen_at_the_ports_and_say_nothing_do_not_hide_the_server(
    monkeypatch: pytest.MonkeyPatch, server: socket.socket
) -> None:
    traps = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
    numbers = [trap.getsockname()[1] for trap in traps]
    monkeypatch.setattr(wire, "ports", lambda _: [*numbers, server.getsockname()[1]])
    channel = wire.find("127.0.0.1", TOKEN, RUN)
    assert channel is not None
    channel.close()
    for trap in traps:
        trap.close()


def test_it_tries_again_while_something_listens_that_closes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setattr(wire, "ports", lambda _: [listener.getsockname()[1]])
    monkeypatch.setattr(wire, "PAUSE_S", 0.0)
    served: list[Channel] = []

    def serve() -> None:
        for _ in range(20):
            listener.accept()[0].close()
        served.append(wire.accept(listener.accept()[0], TOKEN, RUN))

    thread = threading.Thread(target=serve)
    thread.start()
    channel = wire.find("127.0.0.1", TOKEN, RUN, 3600.0)
    thread.join()
    assert channel is not None
    channel.close()
    served[0].close()
    listener.close()


def test_where_nothing_listens_it_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    monkeypatch.setattr(wire, "ports", lambda _: [port])
    assert wire.find("127.0.0.1", TOKEN, RUN, 3600.0) is None


def test_who_proves_itself_by_the_byte_has_one_time_limit_for_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    asked: list[float] = []
    clock = iter(range(0, 10_000, 2))
    monkeypatch.setattr(wire, "HANDSHAKE_S", 10.0)
    monkeypatch.setattr(wire.time, "monotonic", lambda: float(next(clock)))
    theirs.sendall(b"x" * 64)

    class Slow:
        def settimeout(self, seconds: float | None) -> None:
            asked.append(seconds or 0.0)

        def sendall(self, data: bytes) -> None:
            ours.sendall(data)

        def recv(self, _: int) -> bytes:
            if asked[-1] <= 0.001:
                raise TimeoutError
            return ours.recv(1)

    with pytest.raises(wire.Closed):
        wire.accept(Slow(), TOKEN, RUN)  # type: ignore[arg-type]
    assert asked == [10.0, 8.0, 6.0, 4.0, 2.0, 0.001]
    ours.close()
    theirs.close()
