"""Between the ranks of one run: who may connect, and what cannot be changed on the way."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from typing import Any

import pytest

from hai_slurm.tasks import wire
from hai_slurm.tasks.wire import Channel, Closed, Output, WireError

TOKEN, RUN = b"run:secret", "41.2"


def both(client_token: bytes = TOKEN, run: str = RUN) -> tuple[list[Any], list[Any], socket.socket, socket.socket]:
    """A server's and a client's side, shaking hands over a real connection."""
    ours, theirs = socket.socketpair()
    found: list[Any] = []

    def serve() -> None:
        try:
            found.append(wire.accept(ours, TOKEN, RUN))
        except (Closed, WireError) as error:
            found.append(error)
            ours.close()

    thread = threading.Thread(target=serve)
    thread.start()
    client: list[Any] = []
    original = socket.create_connection
    socket.create_connection = lambda *_, **__: theirs  # type: ignore[assignment]
    try:
        client.append(wire.connect("nowhere", 1, client_token, run))
    except (Closed, WireError) as error:
        client.append(error)
    finally:
        socket.create_connection = original
        thread.join()
    return found, client, ours, theirs


def test_two_of_a_run_understand_each_other() -> None:
    (server,), (client,), *_ = both()
    client.send({"role": "node", "node": 1})
    client.send_output(3, 2, b"\0text")
    assert server.receive() == {"role": "node", "node": 1}
    output = server.receive()
    assert isinstance(output, Output)
    assert (output.step, output.stream, output.data) == (3, 2, b"\0text")
    server.send({"over": 0})
    assert client.receive() == {"over": 0}
    server.close()
    with pytest.raises(Closed):
        client.receive()
    client.close()


@pytest.mark.parametrize(("token", "run"), [(b"run:other", RUN), (TOKEN, "41.3"), (b"", RUN)])
def test_who_does_not_know_the_token_of_the_run_is_refused(token: bytes, run: str) -> None:
    (server,), (client,), *_ = both(token, run)
    assert isinstance(server, WireError)
    assert isinstance(client, (Closed, WireError))


def test_the_token_itself_is_never_sent() -> None:
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with contextlib.suppress(Closed):
            wire.accept(ours, TOKEN, RUN)

    thread = threading.Thread(target=serve)
    thread.start()
    seen = theirs.recv(1000)
    theirs.close()
    thread.join()
    assert TOKEN not in seen
    ours.close()


def test_a_message_that_was_changed_or_sent_again_is_refused() -> None:
    (server,), (client,), ours, theirs = both()
    client.send({"a": 1})
    raw = ours.recv(1 << 16)
    for forged in (raw[:-1] + b"\xff", raw + raw):
        one, other = socket.socketpair()
        one.sendall(forged)
        one.close()
        channel = Channel(other, b"", server._other_key)
        # Of the one that comes twice, the first is good.
        good = [channel.receive()] if forged == raw + raw else []
        with pytest.raises(WireError, match="not signed by this run"):
            channel.receive()
        assert good in ([], [{"a": 1}])
        other.close()
    theirs.close()
    ours.close()


def test_a_message_that_is_too_long_is_refused_before_it_is_read() -> None:
    (server,), _, ours, theirs = both()
    theirs.sendall(wire._HEAD.pack(0, wire.MAX_MESSAGE + 1))
    with pytest.raises(WireError, match="too long"):
        server.receive()
    ours.close()
    theirs.close()


def test_the_server_is_found_past_what_else_uses_its_ports() -> None:
    run = f"9.{int.from_bytes(os.urandom(3), 'big')}"
    first = wire.ports(run)[0]
    with socket.create_server(("127.0.0.1", first)) as stranger:
        server = wire.listen("127.0.0.1", run)
        assert server.getsockname()[1] != first

        def be_a_stranger() -> None:
            sock, _ = stranger.accept()
            sock.sendall(b"220 mail.example.org\r\n" * 4)
            sock.close()

        threads = [
            threading.Thread(target=be_a_stranger),
            threading.Thread(target=lambda: wire.accept(server.accept()[0], TOKEN, run).close()),
        ]
        for thread in threads:
            thread.start()
        channel = wire.find("127.0.0.1", TOKEN, run)
        assert channel is not None
        for thread in threads:
            thread.join()
        channel.close()
        server.close()
    assert wire.find("127.0.0.1", TOKEN, run) is None


def test_ports_follow_from_the_run() -> None:
    assert wire.ports("1.1") == wire.ports("1.1") != wire.ports("1.2")
    assert len(set(wire.ports("1.1"))) == wire.PORTS
    assert all(10_000 <= port < 30_000 for port in wire.ports("1.1"))
