"""The log: times, parts, offsets, and a disk without room."""

from __future__ import annotations

import errno
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from hai_client.rank.records.logs import MAX_STATE, LogWriter
from hai_client.rank.records.marks import unlike_ours
from hai_client.rank.records.splitter import MARK, MAX_LINE
from hai_scheduler.adapters.shared.log_parts import read_log
from kit.waiting import wait_for

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z ")


def test_every_line_carries_its_time(bench) -> None:
    bench.run("sh", "-c", "echo one; printf 'two\\rthree\\n'; echo four >&2")
    assert all(STAMP.match(line) for line in bench.log().splitlines())
    assert bench.lines() == ["one", "three", "four"]


def states_and_lines(folder: Path) -> list[bytes]:
    return [line.split(b" ", 1)[1] for line in (folder / f"{0:020d}.log").read_bytes().split(b"\n")[:-1]]


def test_of_twenty_thousand_states_of_a_bar_few_are_kept_and_the_last_one(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path), max_bytes=1 << 20, parts=4)
    for number in range(20_000):
        writer.feed(b"\r%5d/20000" % number)
        writer.step(number / 10)
    writer.close()
    *states, last = states_and_lines(tmp_path)
    assert last == b"19999/20000"
    assert all(state.endswith(b"\r") for state in states)
    # Each second at first, every ten seconds in the end.
    assert states[:3] == [b"   10/20000\r", b"   20/20000\r", b"   30/20000\r"]
    assert 250 < len(states) < 400


def test_a_state_is_kept_when_it_is_due_and_only_once(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path), max_bytes=1 << 20, parts=4)
    writer.feed(b"an ordinary line\nthe beginning of another")
    writer.step(0.0)
    writer.step(5.0)
    writer.feed(b"\r10%")
    writer.step(6.0)
    for now in (6.9, 7.0, 8.0, 9.0):
        writer.step(now)
    writer.feed(b"\r" + b"x" * 2 * MAX_STATE)
    writer.step(10.0)
    assert states_and_lines(tmp_path) == [b"an ordinary line", b"10%\r", b"x" * MAX_STATE + b"\r"]
    writer.close()


def test_a_line_of_the_platform_stands_below_the_state_that_it_has_met(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path), max_bytes=1 << 20, parts=4)
    writer.feed(b"\r10%")
    writer.say("told to leave")
    writer.feed(b"\r[hai] 20%")
    writer.step(0.0)
    writer.step(1.0)
    writer.close()
    lines = [b"10%", b"[hai] told to leave", b"\\[hai] 20%\r", b"\\[hai] 20%"]
    assert states_and_lines(tmp_path) == lines


def test_several_bars_are_one_state_and_settle_when_nothing_moves_any_more(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path), max_bytes=1 << 20, parts=4)
    for number in range(10_000):
        writer.feed(b"\n\rinner %d\x1b[A" % number)
        if number % 100 == 99:
            writer.feed(b"\router %d" % (number // 100))
        writer.step(number / 100)
    writer.feed(b"\n\rend")
    for now in (100.0, 110.0, 120.0, 130.0):
        writer.step(now)
    lines = states_and_lines(tmp_path)
    kept = [line for line in lines if not line.endswith(b"\r")]
    assert kept[-2:] == [b"outer 99", b"end"]
    assert len(kept) <= 3
    assert 20 < len(lines) < 120
    writer.feed(b"an ordinary line again\n")
    assert states_and_lines(tmp_path)[-1] == b"an ordinary line again"
    writer.close()


def test_offsets_stay_valid_while_old_parts_go(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path), max_bytes=2000, parts=4)
    story = []
    for number in range(200):
        writer.feed(f"line {number}\n".encode())
        story.append(f"line {number}")
    writer.close()
    parts = sorted(tmp_path.glob("*.log"))
    assert len(parts) == 4
    first = int(parts[0].stem)
    chunk = read_log(tmp_path, offset=0, limit=300, final=True)
    assert chunk.start == first > 0
    read, offset = b"", 0
    while not chunk.final:
        chunk = read_log(tmp_path, offset=offset, limit=300, final=True)
        assert chunk.data.endswith(b"\n")
        assert chunk.next == chunk.start + len(chunk.data)
        read += chunk.data
        offset = chunk.next
    texts = [line.split(" ", 1)[1] for line in read.decode().splitlines()]
    assert texts == story[-len(texts) :]
    assert offset == int(parts[-1].stem) + parts[-1].stat().st_size
    again = read_log(tmp_path, offset=offset, limit=300, final=True)
    assert (again.start, again.next, again.data, again.final) == (offset, offset, b"", True)


def test_a_reader_is_given_whole_lines_but_pieces_of_one_that_is_too_long(tmp_path: Path) -> None:
    (tmp_path / f"{0:020d}.log").write_bytes(b"short\n" + b"x" * 50 + b"\nhalf")
    assert read_log(tmp_path, offset=0, limit=20, final=False).data == b"short\n"
    assert read_log(tmp_path, offset=6, limit=20, final=False).data == b"x" * 20
    waiting = read_log(tmp_path, offset=57, limit=20, final=False)
    assert (waiting.data, waiting.next, waiting.final) == (b"", 57, False)
    assert read_log(tmp_path, offset=57, limit=20, final=True).data == b"half"


def test_a_write_without_room_drops_whole_lines_counts_them_and_says_so_later(tmp_path: Path) -> None:
    room = [10_000]

    def write(fd: int, data: bytes) -> int:
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = os.write(fd, data[: room[0]])
        room[0] -= written
        return written

    writer = LogWriter(str(tmp_path), max_bytes=1 << 20, parts=4, write=write)
    writer.feed(b"one\n")
    room[0] = 75
    writer.feed(b"two\n" + b"three\n" * 5)
    writer.feed(b"four\n")
    room[0] = 10_000
    writer.feed(b"five\n")
    writer.close()
    text = (tmp_path / f"{0:020d}.log").read_text()
    assert all(STAMP.match(line) for line in text.splitlines())
    lines = [line.split(" ", 1)[1] for line in text.splitlines()]
    assert lines == ["one", "two", "three", "[hai] 5 lines were lost: no space left on device", "five"]
    assert writer.lost == 5


@pytest.mark.parametrize(
    ("printed", "logged"),
    [
        (b"[hai] run 3 succeeded", b"\\[hai] run 3 succeeded"),
        (b"  \t[hai] x", b"\\  \t[hai] x"),
        (b"\x1b[2m[hai] x\x1b[0m", b"\\[hai] x"),
        (b"over\x1b[1G[hai] x", b"\\over[hai] x"),
        (b"\x1b]0;title\x07[hai] x", b"\\[hai] x"),
        ("\u200b\ufeff[hai] x".encode(), b"\\[hai] x"),
        ("\u00a0\u2003[hai] x".encode(), "\\\u00a0\u2003[hai] x".encode()),
        (b"x\b[hai] x", b"\\x[hai] x"),
        (b"see [hai] for more", b"see [hai] for more"),
        (b"\\[hai] x", b"\\[hai] x"),
        (b"\x1b[32mgreen\x1b[0m", b"\x1b[32mgreen\x1b[0m"),
        (b"[hal] x", b"[hal] x"),
    ],
)
def test_a_line_that_would_look_like_the_platforms_gets_a_backslash(printed: bytes, logged: bytes) -> None:
    assert unlike_ours(printed) == logged


def test_only_the_platform_writes_lines_that_begin_as_its_own(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path), max_bytes=1 << 20, parts=4)
    writer.say("not every rank is up yet")
    for piece in (b"[h", b"ai] cut in two\none\r[hai] after a return\n", b"[hai] is read on\nlast: ", b"[hai]\n"):
        writer.feed(piece)
    writer.feed(b"x" * MAX_LINE + b"[hai] behind a cut\n")
    writer.feed(b"[hai] without an end")
    writer.close()
    lines = [line.split(b" ", 1)[1] for line in (tmp_path / f"{0:020d}.log").read_bytes().splitlines()]
    assert [line for line in lines if line.startswith(MARK)] == [b"[hai] not every rank is up yet"]
    assert [line for line in lines if line.startswith(b"\\")] == [
        b"\\[hai] cut in two",
        b"\\[hai] after a return",
        b"\\[hai] is read on",
        b"\\[hai] behind a cut",
        b"\\[hai] without an end",
    ]
    assert b"last: [hai]" in lines


def test_on_a_disk_that_stays_full_the_last_line_says_what_was_lost(tmp_path: Path) -> None:
    room = [120]

    def write(fd: int, data: bytes) -> int:
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = os.write(fd, data[: room[0]])
        room[0] -= written
        return written

    writer = LogWriter(str(tmp_path), max_bytes=1 << 20, parts=4, write=write)
    writer.feed(b"one\n" + b"two\n" * 700)
    writer.close()
    chunk = read_log(tmp_path, offset=0, limit=1 << 20, final=True)
    lines = [line.split(b" ", 1)[1] for line in chunk.data.splitlines()]
    assert lines == [b"one", b"two", b"two", b"[hai] 698 lines were lost: no space left on device"]
    assert chunk.final
    assert (writer.lost, writer.why) == (698, "no space left on device")
    assert not (tmp_path / ".spare").exists()


def test_nothing_is_set_aside_for_longer_than_the_log_is_written(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path), max_bytes=1 << 20, parts=4)
    assert list(tmp_path.iterdir()) == []
    writer.feed(b"one\n")
    assert (tmp_path / ".spare").stat().st_blocks * 512 >= 4096
    writer.close()
    assert [path.name for path in tmp_path.iterdir()] == [f"{0:020d}.log"]


def test_a_job_whose_log_may_not_grow_finishes_all_the_same(bench) -> None:
    bench.prepare("sh", "-c", "seq 1 200000; echo end", log_max_bytes=1 << 30, log_parts=1)
    limit = 500_000

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    subprocess.run(
        [sys.executable, "-m", "hai_client.rank", str(bench.folder)],
        check=True,
        preexec_fn=lower,
        timeout=30,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    status = bench.status()
    assert (status["state"], status["exit_code"]) == ("exited", 0)
    assert status["log_lost_lines"] > 0
    assert status["log_lost_why"] == "file too large"
    *lines, last = bench.lines()
    assert last == f"[hai] {status['log_lost_lines']} lines were lost: file too large"
    assert len(bench.log()) <= limit + 100
    assert len(lines) + status["log_lost_lines"] == 200_001


def test_a_full_disk_costs_log_lines_and_nothing_else(bench, service, small_disk: Path) -> None:
    bench.folder = small_disk / "rank"
    bench.start(
        "sh",
        "-c",
        "seq 1 100000; touch /$MARKER; while [ ! -e /$MARKER.go ]; do sleep 0.02; done; echo end; exit 0",
        log_max_bytes=1 << 30,
        log_parts=1,
        cwd="/",
        profile="cooperative",
        env={"MARKER": (marker := f"tmp/{bench.mark}")},
    )
    wait_for("the mark of the command", lambda: Path("/", marker).exists())
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "filler").write_bytes(b"x" * (1 << 20))
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status().get("notified_at"))
    assert (bench.folder / "runtime" / "notice.json").exists()
    Path("/", f"{marker}.go").touch()
    status = bench.wait()
    assert (status["state"], status["exit_code"]) == ("exited", 0)
    assert (status["log_lost_lines"] > 0, status["log_lost_why"]) == (True, "no space left on device")
    # A short line may still have fitted on the full disk, so the message may come in parts.
    sentence = re.compile(r"\[hai\] (\d+) lines? (?:was|were) lost: no space left on device")
    told = [int(match.group(1)) for match in map(sentence.fullmatch, bench.lines()) if match]
    assert sum(told) == status["log_lost_lines"]
    assert sentence.fullmatch(bench.lines()[-1]) or bench.lines()[-1] == "end"


def test_when_there_is_room_again_the_log_says_what_was_lost(bench, small_disk: Path) -> None:
    bench.folder = small_disk / "rank"
    filler = small_disk / "filler"
    bench.prepare(
        "sh",
        "-c",
        "echo one; while [ ! -e /$M ]; do sleep 0.02; done; seq -f %0120.0f 1 8000; touch /$M.lost; "
        "while [ ! -e /$M.go ]; do sleep 0.02; done; echo end",
        log_max_bytes=1 << 30,
        log_parts=1,
        cwd="/",
        env={"M": (marker := f"tmp/{bench.mark}")},
    )
    bench.start()
    bench.printed("one")
    # Its room is enough for what may still be in the pipe when it goes.
    filler.write_bytes(b"x" * 400_000)
    Path("/", marker).touch()
    wait_for("the mark of the lost line", lambda: Path("/", f"{marker}.lost").exists())
    wait_for(
        "the loss of lines to be told, or nothing more to do",
        lambda: bench.status().get("log_lost_lines") or _idle(bench),
    )
    filler.unlink()
    Path("/", f"{marker}.go").touch()
    status = bench.wait()
    assert status["log_lost_lines"] > 0
    # A short line may still have fitted on the full disk, so there may be several messages.
    sentence = r"\[hai\] (\d+) lines? (?:was|were) lost: no space left on device"
    told = [int(match.group(1)) for match in map(re.compile(sentence).fullmatch, bench.lines()) if match]
    assert sum(told) == status["log_lost_lines"]
    assert bench.lines()[-1] == "end"


def _idle(bench) -> bool:
    """Whether the log has stopped growing."""
    return sum(part.stat().st_size for part in (bench.folder / "log").glob("*.log")) > 40_000
