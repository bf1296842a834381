"""The bus of the processes of a machine: dead processes, slow processes and strangers do not disturb the others."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
from pathlib import Path

import pytest

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.adapters.system.socket_bus import MOST_UNSENT as MOST_UNSENT_DATAGRAMS
from hai_scheduler.adapters.system.socket_bus import open_bus
from kit.buses import SOON, opened_sockets


class TestSocketsOfAMachine:
    """Dead processes, slow processes and strangers do not disturb the others."""

    async def test_the_folder_and_a_long_path_to_it_are_for_the_owner_alone(self, tmp_path: Path) -> None:
        folder = tmp_path / ("long" * 40) / "bus"
        assert len(str(folder)) > 150, "longer than the name of a socket may be"
        async with opened_sockets(folder) as one, opened_sockets(folder) as other, other.listen("tick") as ears:
            assert folder.stat().st_mode & 0o777 == 0o700
            await one.ring("tick")
            assert await ears.wait(SOON)
        assert list(folder.iterdir()) == [], "who ends in order leaves nothing"

    async def test_the_socket_of_a_dead_process_is_swept(self, tmp_path: Path) -> None:
        folder = tmp_path / "bus"
        async with opened_sockets(folder) as one, opened_sockets(folder) as other, other.listen("tick") as ears:
            dead = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            dead.bind(str(folder / "999999-dead.sock"))
            dead.close()
            assert len(list(folder.iterdir())) == 3
            await one.ring("tick")
            assert await ears.wait(SOON)
            assert len(list(folder.iterdir())) == 2

    async def test_a_process_that_does_not_listen_delays_no_other_and_hears_everything_later(
        self, tmp_path: Path
    ) -> None:
        folder = tmp_path / "bus"
        async with opened_sockets(folder) as one, opened_sockets(folder) as quick, quick.listen("last") as ears:
            slow = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            slow.setblocking(False)
            slow.bind(str(folder / "1-slow.sock"))
            try:
                for number in range(3000):
                    await one.ring(f"run:{number}.1")
                    await asyncio.sleep(0)  # each message goes out by itself
                assert sum(map(len, one._late.values())) <= MOST_UNSENT_DATAGRAMS
                async with asyncio.timeout(SOON):
                    await one.ring("last")
                    assert await ears.wait(SOON)
                heard = set()
                async with asyncio.timeout(SOON):
                    while "*" not in heard:
                        try:
                            heard |= set(slow.recv(65536).decode().split("\n"))
                        except BlockingIOError:
                            await asyncio.sleep(0.01)
                assert "run:0.1" in heard
            finally:
                slow.close()

    async def test_a_ring_for_everything_wakes_every_listener(self, tmp_path: Path) -> None:
        folder = tmp_path / "bus"
        async with opened_sockets(folder) as one, opened_sockets(folder) as other, other.listen("run:3.1") as ears:
            for number in range(MOST_UNSENT_DATAGRAMS + 10):
                await one.ring(f"run:{number + 100}.1")
            assert await ears.wait(SOON), "too many for one datagram: it stands for all topics"

    async def test_rubbish_does_no_harm(self, tmp_path: Path) -> None:
        folder = tmp_path / "bus"
        async with opened_sockets(folder) as one, opened_sockets(folder) as other, other.listen("tick") as ears:
            stranger = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            for rubbish in (b"", b"\xff\x00", b"\n\n", b"word" * 100):
                stranger.sendto(rubbish, str(folder / other._name))
            stranger.close()
            (folder / "no-socket.sock").write_text("")
            await one.ring("tick")
            assert await ears.wait(SOON)


def descriptors() -> int:
    """How many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_folder_that_cannot_be_used_is_said_and_leaves_no_descriptor(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    before = descriptors()
    with pytest.raises(OSError, match="file"):
        await open_bus(tmp_path / "file", MemoryBus())
    assert descriptors() == before


async def test_closing_leaves_no_descriptor_and_may_come_twice(tmp_path: Path) -> None:
    before = descriptors()
    bus = await open_bus(tmp_path / "bus", MemoryBus())
    await bus.ring("tick")
    await bus.close()
    await bus.close()
    await bus.ring("tick")
    assert descriptors() == before


async def test_rings_of_one_turn_are_one_datagram_with_each_topic_once(tmp_path: Path) -> None:
    folder = tmp_path / "bus"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as stranger:
        async with opened_sockets(folder) as one:
            stranger.bind(str(folder / "stranger.sock"))
            for topic in ("a", "b", "a"):
                await one.ring(topic)
            assert await asyncio.get_running_loop().sock_recv(stranger, 1000) == b"a\nb"
            with pytest.raises(BlockingIOError):
                stranger.recv(1000)


async def test_a_folder_that_is_removed_costs_rings_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened_sockets(tmp_path / "bus") as one, one.listen("tick") as ears:

        def broken(_: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
            patch.setattr(os, "scandir", broken)
            await one.ring("tick")
            one._flush()
        assert await ears.wait(0)
        assert "other processes hear late" in caplog.text


async def test_a_socket_that_refuses_for_another_reason_is_neither_swept_nor_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "bus"
    async with opened_sockets(folder) as one:
        (folder / "folder.sock").mkdir()
        with caplog.at_level(logging.WARNING):
            await one.ring("tick")
            one._flush()
        assert (folder / "folder.sock").is_dir()
        assert one._late == {}
