"""The socket of a rank: it answers kineto, and nothing that anybody else sends does harm."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.rank.profiling import kineto
from hai_client.rank.profiling.door import AT_ONCE, REST_S, RecordingDoor
from unit.client.rank.profiling.kineto_client import HEAD, KinetoClient, ask_message, register_message


@pytest.fixture
def runtime() -> Iterator[str]:
    """A folder with a short path, as the platform's are."""
    with tempfile.TemporaryDirectory(prefix="r") as folder:
        yield folder


@pytest.fixture
def door(runtime: str) -> Iterator[RecordingDoor]:
    made = RecordingDoor(runtime)
    assert made.open({})["KINETO_IPC_SOCKET_DIR"] == made.folder
    yield made
    made.close()


def test_a_process_is_told_what_to_record_under_the_pid_that_the_kernel_knows(door: RecordingDoor) -> None:
    told: list[int] = []
    with KinetoClient(door.folder) as process:
        process.say(ask_message(4711, 1))
        door.hear(0, lambda pid: told.append(pid) or "A=1\n")  # type: ignore[func-returns-value]
        assert process.heard() == "A=1\n"
    assert told == [os.getpid()]
    assert door.asked == {os.getpid()}


def test_a_process_that_records_already_is_told_nothing(door: RecordingDoor) -> None:
    with KinetoClient(door.folder) as process:
        process.say(ask_message(1, kind=1))
        door.hear(0, lambda _: "A=1\n")
        assert process.heard() == ""


def test_a_process_may_register(door: RecordingDoor) -> None:
    with KinetoClient(door.folder) as process:
        process.say(register_message())
        door.hear(0, lambda _: "")
        assert process.heard() == "\0\0\0\0"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        HEAD.pack(0, b"req"),
        HEAD.pack(2**64 - 1, b"req") + ask_message(1)[40:],
        ask_message(1)[:-1],
        ask_message(1) + b"x",
        ask_message(),
        ask_message(*range(300)),
        HEAD.pack(16, b"req") + b"\xff" * 16,
        HEAD.pack(16, b"data") + b"\0" * 16,
        register_message() + b"x",
        b"x" * 60_000,
    ],
)
def test_what_is_not_of_the_protocol_is_not_answered(door: RecordingDoor, data: bytes) -> None:
    with KinetoClient(door.folder) as process:
        process.say(data)
        door.hear(0, lambda _: "A=1")
        assert process.heard() is None
        process.say()
        door.hear(0, lambda _: "A=1")
        assert process.heard() == "A=1"


@given(st.binary(max_size=200))
def test_no_bytes_are_more_than_a_bad_message(data: bytes) -> None:
    with contextlib.suppress(kineto.BadMessage):
        assert kineto.parse(data).kind in (b"ctxt", b"req")


def test_nobody_else_is_answered(door: RecordingDoor, runtime: str) -> None:
    elsewhere = Path(runtime) / "elsewhere"
    elsewhere.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other, KinetoClient(door.folder, "other") as strange:
        other.bind(str(elsewhere / "dynoconfigclient-1"))
        other.setblocking(False)
        other.sendto(ask_message(1), str(Path(door.folder) / "dynolog"))
        strange.say()
        door.hear(0, lambda _: "A=1")
        assert strange.heard() is None
        with pytest.raises(BlockingIOError):
            other.recv(100)


def test_a_flood_is_left_alone_for_a_while(door: RecordingDoor) -> None:
    with KinetoClient(door.folder) as process:
        sent = 0
        # The kernel keeps ten messages or so of a socket: the flood comes while it is being read.
        while not door.rests(5):
            process.say()
            sent += 1
            door.hear(5, lambda _: process.say() or "")  # type: ignore[func-returns-value]
            while process.heard() is not None:
                pass
            assert sent < 2 * AT_ONCE
        assert not door.rests(5 + REST_S)


def test_a_long_path_gets_a_short_folder_that_is_removed(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    door = RecordingDoor(str(deep))
    variables = door.open({})
    folder = variables["KINETO_IPC_SOCKET_DIR"]
    assert len(folder) < 50
    assert variables["KINETO_ONDEMAND_TRACE_DIR"].startswith(str(deep))
    assert Path(folder).stat().st_mode & 0o077 == 0
    with KinetoClient(folder) as process:
        process.say()
        door.hear(0, lambda _: "A=1")
        assert process.heard() == "A=1"
    door.close()
    assert not Path(folder).exists()


def test_what_a_task_sets_itself_is_left_alone(runtime: str) -> None:
    assert RecordingDoor(runtime).open({"KINETO_USE_DAEMON": "1"}) == {}
    door = RecordingDoor(runtime)
    assert "KINETO_CONFIG" not in door.open({"KINETO_CONFIG": "/my.conf"})
    door.close()


def test_where_no_socket_can_be_made_the_command_starts_without(runtime: str) -> None:
    (Path(runtime) / "k").write_text("a file")
    door = RecordingDoor(runtime)
    assert door.open({}) == {}
    assert door.fd == -1
    door.hear(0, lambda _: "A=1")
