"""A service that comes back on another port: running ranks get its notices, and it gets their reports."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hai_client.rank.shared.address import Address
from hai_client.rank.shared.api import RankApi, Unreachable
from hai_scheduler.adapters.local.folders import ADDRESS_FILE, announce
from kit.waiting import wait_for

SAVES = (
    "import signal, sys, time\n"
    "signal.signal(signal.SIGTERM, lambda *_: (print('told', flush=True), sys.exit(0)))\n"
    "print('up', flush=True)\ntime.sleep(600)"
)
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


class Stranger:
    """Another program on the port that the service had."""

    def __init__(self, port: int, answer: bytes | None) -> None:
        self._answer = answer
        self._held: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.visits = 0

    def _run(self) -> None:
        while True:
            try:
                visitor, _ = self._listener.accept()
            except OSError:
                return
            self.visits += 1
            if self._answer is None:
                self._held.append(visitor)
                continue
            visitor.recv(65536)
            visitor.sendall(self._answer)
            visitor.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for visitor in self._held:
            visitor.close()


@pytest.fixture
def strangers() -> Iterator[list[Stranger]]:
    there: list[Stranger] = []
    yield there
    for stranger in there:
        stranger.close()


@pytest.mark.parametrize(
    "answer", [None, NOT_FOUND, NOT_FOUND.replace(b"404 Not Found", b"200 OK"), b"220 mail.example ESMTP\r\n"]
)
def test_a_rank_hears_its_notice_and_is_heard_although_another_program_has_the_old_port(
    bench, service, strangers, tmp_path, answer
) -> None:
    runs = tmp_path / "runs"
    announce(runs, service.url, alone=True)
    bench.start(sys.executable, "-c", SAVES, address_file=str(runs / ADDRESS_FILE))
    bench.printed("up")
    wait_for("a poll for notices", lambda: service.polls)
    old = service.port
    service.stop()
    strangers.append(Stranger(old, answer))
    wait_for("a visit to the stranger", lambda: strangers[0].visits)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        service.port = probe.getsockname()[1]
    service.start()
    announce(runs, service.url, alone=True)
    service.notify()
    bench.printed("told")
    assert bench.wait()["notified_at"] is not None
    assert service.kinds() == ["received"]


@pytest.mark.parametrize("status", [b"200 OK", b"404 Not Found"])
def test_what_another_program_says_of_a_report_does_not_count(strangers, tmp_path, status) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    strangers.append(Stranger(port, NOT_FOUND.replace(b"404 Not Found", status)))
    api = RankApi(f"http://127.0.0.1:{port}/api", "run:41.2:abc", "41.2", 0)
    with pytest.raises(Unreachable):
        api.report({"kind": "saved", "step": 7})


def test_a_rank_without_such_a_file_calls_where_it_was_told_to(bench, service, tmp_path) -> None:
    bench.start(sys.executable, "-c", SAVES, address_file=str(tmp_path / "none"))
    bench.printed("up")
    service.notify()
    bench.printed("told")
    bench.wait()
    assert service.kinds() == ["received"]


def test_the_latest_address_is_called_and_others_only_when_it_does_not_answer(tmp_path: Path) -> None:
    for url in ("http://a/1", "http://b/2"):
        announce(tmp_path, url, alone=False)
    address = Address("http://first", str(tmp_path / ADDRESS_FILE))
    assert address.current() == "http://b/2"
    address.failed()
    assert address.current() == "http://a/1"
    address.failed()
    assert address.current() == "http://b/2"


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe\x00", b"file:///etc/passwd\n"])
def test_a_damaged_file_counts_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "address").write_bytes(content)
    assert Address("http://first", str(tmp_path / "address")).current() == "http://first"


def test_a_call_that_waits_is_not_broken_off_when_another_one_fails(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("hai_client.rank.shared.api.LOOK_EVERY_S", 0.02)
    asked = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        (tmp_path / "address").write_text(f"http://127.0.0.1:{port}\nhttp://127.0.0.1:1\n")
        api = RankApi("http://first", "run:41.2:abc", "41.2", 0, str(tmp_path / "address"))

        def serve() -> None:
            visitor, _ = listener.accept()
            with visitor:
                visitor.recv(65536)
                api._address.failed()
                looks = 0
                while looks < 3:  # the answer comes after several looks at the addresses
                    asked.wait(0.02)
                    looks += 1
                visitor.sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        assert api.notice(0, 30) == (204, {})
        thread.join()
