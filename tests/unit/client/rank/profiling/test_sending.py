"""Traces on their way to the service: whole, once, and no more than may be."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import pytest

from hai_client.rank.profiling import sending
from hai_client.rank.profiling.sending import CannotSend, TraceSender
from hai_client.rank.shared.api import Answer, Unreachable


class Service:
    """Keeps pieces as the real one does, and answers as it is told to."""

    def __init__(self, *troubles: int | str) -> None:
        self.data = b""
        self.ends: list[dict[str, Any]] = []
        self._troubles = list(troubles)

    def send_trace(self, recording: int, trace: int, offset: int, data: bytes, patience: float) -> Answer:
        trouble = self._troubles.pop(0) if self._troubles else 200
        if trouble == "away":
            raise Unreachable("ConnectionRefusedError")
        if isinstance(trouble, int) and trouble != 200:
            return Answer(trouble, {})
        if offset != len(self.data):
            return Answer(409, {}, str(len(self.data)))
        self.data += data
        if trouble == "lost":
            raise Unreachable("the answer was lost")
        return Answer(200, {})

    def finish_recording(self, recording: int, body: dict[str, Any], patience: float) -> Answer:
        self.ends.append(body)
        return Answer(204, {})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PIECE_BYTES", 1000)
    monkeypatch.setattr(sending, "FIRST_PAUSE_S", 0.001)


def sender(service: Service, most: int = 1 << 20) -> TraceSender:
    return TraceSender(service, 3, most)  # type: ignore[arg-type]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    path.write_bytes(b'{"cat": "cpu_op"}' + os.urandom(5000))
    return path


@pytest.mark.parametrize("troubles", [(), ("away",), ("lost",), (500, 503, 429), (200, "lost", "away", "lost")])
def test_a_trace_arrives_whole_and_once(trace: Path, troubles: tuple[int | str, ...]) -> None:
    service = Service(*troubles)
    assert sender(service).send(str(trace), 0)
    assert zlib.decompress(service.data, 31) == trace.read_bytes()


def test_what_computed_nothing_is_known(trace: Path) -> None:
    trace.write_bytes(b'{"traceEvents": []}')
    assert not sender(Service()).send(str(trace), 0)


@pytest.mark.parametrize("at", [0, 1, 5, 8, 15])
def test_an_operator_is_seen_wherever_pieces_of_the_file_end(
    trace: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "READ_BYTES", 8)
    trace.write_bytes(b" " * at + b'"cpu_op"')
    assert sender(Service()).send(str(trace), 0)


def test_traces_that_are_too_large_are_refused_with_a_remedy(trace: Path) -> None:
    with pytest.raises(CannotSend, match="record fewer seconds"):
        sender(Service(), most=4000).send(str(trace), 0)


def test_a_refusal_is_said(trace: Path) -> None:
    with pytest.raises(CannotSend, match="410"):
        sender(Service(410)).send(str(trace), 0)


def test_a_service_that_stays_away_is_given_up(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PATIENCE_S", 0.0)
    with pytest.raises(CannotSend, match="could not be reached"):
        sender(Service("away")).send(str(trace), 0)


@pytest.mark.parametrize("kind", ["link", "pipe", "missing"])
def test_nothing_but_a_file_of_the_job_is_sent(tmp_path: Path, kind: str) -> None:
    secret, path = tmp_path / "secret", tmp_path / "trace.json"
    secret.write_text("secret")
    if kind == "link":
        path.symlink_to(secret)
    elif kind == "pipe":
        os.mkfifo(path)
    service = Service()
    if kind == "pipe":
        # It has no writer: it is empty, and nobody waits for it.
        assert not sender(service).send(str(path), 0)
        assert zlib.decompress(service.data, 31) == b""
    else:
        with pytest.raises(CannotSend, match="cannot be read"):
            sender(service).send(str(path), 0)
        assert service.data == b""
