"""Following a log in parts: whole lines, each byte once, whatever is rotated away meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hai_client.rank.records.log_upload import LogUploader, every_s, read_piece
from hai_client.rank.records.logs import LogWriter
from hai_client.rank.shared.api import Answer, Unreachable


class Service:
    """Keeps what it is sent, and answers as it is told to."""

    def __init__(self, *troubles: int | None) -> None:
        self.log = b""
        self.skipped: list[tuple[int, int]] = []
        self.calls = 0
        self._troubles = list(troubles)

    def send_log(self, offset: int, data: bytes, *, skip: bool) -> Answer:
        self.calls += 1
        trouble = self._troubles.pop(0) if self._troubles else 200
        if trouble is None:
            raise Unreachable("ConnectionRefusedError")
        if trouble not in (200, -200):
            return Answer(trouble, {})
        end = len(self.log)
        if offset != end and not (skip and offset > end):
            return Answer(409, {}, str(end))
        if offset > end:
            self.skipped.append((end, offset))
            self.log = self.log.ljust(offset, b"?")
        self.log += data
        if trouble == -200:
            raise Unreachable("the answer was lost")
        return Answer(200, {"next": len(self.log)})


def uploader(service: Service, folder: Path, rate: float = 1e12) -> LogUploader:
    return LogUploader(service, str(folder), rate=rate, every_s=0.01)  # type: ignore[arg-type]


def written(folder: Path) -> bytes:
    return b"".join(part.read_bytes() for part in sorted(folder.glob("*.log")))


def steps(one: LogUploader, most: int = 1000) -> int:
    """Step until there is nothing more to do; how many steps that were."""
    one._closed = True
    for count in range(most):
        if one._step() is None:
            return count
    raise AssertionError("it does not end")


def test_a_log_in_parts_arrives_whole(tmp_path: Path) -> None:
    log = LogWriter(str(tmp_path), max_bytes=1 << 20, parts=100)
    for number in range(2000):
        log.feed(b"line %d\n" % number)
    log.feed(b"the last has no end")
    log.close()
    service = Service()
    steps(uploader(service, tmp_path))
    assert service.log == written(tmp_path)
    assert service.log.endswith(b"the last has no end\n")


@pytest.mark.parametrize(
    "troubles",
    [(None, None), (500, 503, 429), (-200,), (200, -200, None, 503)],
    ids=["away", "busy", "answer lost", "all of them"],
)
def test_no_line_is_lost_or_sent_twice_for_a_service_in_trouble(tmp_path: Path, troubles) -> None:
    log = LogWriter(str(tmp_path), max_bytes=4 << 20, parts=4)
    for number in range(30_000):
        log.feed(b"line %d\n" % number)
    log.close()
    service = Service(*troubles)
    steps(uploader(service, tmp_path))
    assert service.log == written(tmp_path)
    assert service.skipped == []


def test_what_was_rotated_away_before_it_was_sent_is_skipped_once(tmp_path: Path) -> None:
    log = LogWriter(str(tmp_path), max_bytes=4000, parts=4)
    service = Service()
    one = uploader(service, tmp_path)
    log.feed(b"first\n")
    one._step()
    for number in range(1000):
        log.feed(b"line %d\n" % number)
    log.close()
    steps(one)
    ((lost_from, lost_to),) = service.skipped
    kept = written(tmp_path)
    assert service.log[lost_to:] == kept
    assert lost_from == len(b"2026-11-21T04:00:00.123456Z first\n")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 413])
def test_a_service_that_will_never_take_it_is_left_alone(tmp_path: Path, status: int) -> None:
    (tmp_path / f"{0:020d}.log").write_bytes(b"x\n")
    service = Service(status)
    assert uploader(service, tmp_path)._step() is None
    assert service.calls == 1


def test_a_service_that_is_away_is_asked_less_and_less_often(tmp_path: Path) -> None:
    (tmp_path / f"{0:020d}.log").write_bytes(b"x\n")
    one = uploader(Service(*[None] * 20), tmp_path)
    rests = [one._step() for _ in range(10)]
    assert rests[:3] == [0.2, 0.4, 0.8]
    assert rests[-1] == 5.0


def test_it_sends_no_faster_than_it_may(tmp_path: Path) -> None:
    (tmp_path / f"{0:020d}.log").write_bytes(b"x" * 999 + b"\n")
    assert uploader(Service(), tmp_path, rate=100.0)._step() == 10.0


def test_a_line_that_is_still_being_written_waits(tmp_path: Path) -> None:
    part = tmp_path / f"{0:020d}.log"
    part.write_bytes(b"whole\nha")
    assert read_piece(str(tmp_path), 0, 100, closed=False) == (0, b"whole\n", False)
    assert read_piece(str(tmp_path), 6, 100, closed=False) == (6, b"", False)
    assert read_piece(str(tmp_path), 6, 100, closed=True) == (6, b"ha", False)
    assert read_piece(str(tmp_path / "none"), 0, 100, closed=True) == (0, b"", False)


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 300), min_size=1, max_size=60),
    limit=st.integers(400, 2000),
    parts=st.integers(1, 6),
)
def test_any_log_is_read_to_its_end_in_order(tmp_path_factory, sizes, limit, parts) -> None:
    folder = tmp_path_factory.mktemp("log")
    log = LogWriter(str(folder), max_bytes=3000 * parts, parts=parts)
    for size in sizes:
        log.feed(b"x" * size + b"\n")
    log.close()
    begins = sorted(int(part.stem) for part in folder.glob("*.log"))
    offset, found = 0, b""
    while True:
        start, data, _ = read_piece(str(folder), offset, limit, closed=True)
        if not data:
            break
        assert start == (offset if found else begins[0])
        assert len(data) <= limit
        assert data.endswith(b"\n")
        offset, found = start + len(data), found + data
    assert found == written(folder)


def test_rank_0_is_followed_closely_and_a_large_gang_does_not_storm_the_service() -> None:
    assert every_s(0, 5000) == 1.0
    assert every_s(1, 2) < 3.0
    assert sum(1 / every_s(rank, 512) for rank in range(512)) < 25
    assert every_s(9, 10**6) == 30.0


def test_what_a_full_disk_leaves_of_a_log_is_sent_with_the_last_word(tmp_path: Path) -> None:
    def write(fd: int, data: bytes) -> int:
        if b"lost" in data:
            raise OSError(28, "No space left on device")
        return os.write(fd, data)

    writer = LogWriter(str(tmp_path), max_bytes=1 << 20, parts=4, write=write)
    writer.feed(b"one\n")
    writer.feed(b"is lost\n")
    writer.close()
    sent, more = b"", True
    while more:
        start, data, more = read_piece(str(tmp_path), len(sent), 1 << 20, closed=True)
        assert start == len(sent)
        sent += data
    assert [line.split(b" ", 1)[1] for line in sent.splitlines()] == [
        b"one",
        b"[hai] 1 line was lost: no space left on device",
    ]
