"""Starting while something is away: what is waited for, what is not, and what is answered meanwhile."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from hai_scheduler.app import starting
from hai_scheduler.app.config import ConfigError
from hai_scheduler.app.starting import WaitingRoom, when_it_is_there, writable
from hai_scheduler.ports.errors import Temporary

AWAY = "the state database does not answer: connection refused"
SHORT = (0.001, 0.002)


class Room(WaitingRoom):
    """One that only says whether it is open."""

    def __init__(self) -> None:
        self.history: list[str] = []

    def open(self) -> None:
        self.history.append("open")

    async def close(self) -> None:
        self.history.append("closed")


async def test_what_is_there_is_given_at_once_and_no_room_is_opened() -> None:
    room = Room()

    async def attempt() -> int:
        return 7

    assert await when_it_is_there(attempt, room, asyncio.Event()) == 7
    assert room.history == []


async def test_what_is_away_is_tried_again_and_its_trouble_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    room, tries = Room(), 0

    async def attempt() -> int:
        nonlocal tries
        tries += 1
        if tries < 20:
            raise Temporary(AWAY)
        assert room.history == ["open"]
        return tries

    with caplog.at_level(logging.INFO):
        assert await when_it_is_there(attempt, room, asyncio.Event(), pauses=SHORT) == 20
    assert room.history == ["open", "closed"]
    assert [record.message for record in caplog.records] == [
        f"the service cannot start yet and tries again until it can: {AWAY}",
        "the waiting is over",
    ]


async def test_what_waiting_does_not_mend_is_raised_and_the_room_is_closed() -> None:
    room, troubles = Room(), [Temporary("away"), ConfigError("db_url: it is wrong")]

    async def attempt() -> int:
        raise troubles.pop(0)

    with pytest.raises(ConfigError):
        await when_it_is_there(attempt, room, asyncio.Event(), pauses=SHORT)
    assert room.history == ["open", "closed"]


async def test_who_is_told_to_end_does_not_wait_on() -> None:
    room, stop = Room(), asyncio.Event()

    async def attempt() -> int:
        stop.set()
        raise Temporary("away")

    assert await when_it_is_there(attempt, room, stop, pauses=(60.0, 60.0)) is None
    assert room.history == ["open", "closed"]


async def test_an_attempt_that_hangs_opens_the_room_and_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(starting, "PATIENCE", 0.01)
    monkeypatch.setattr(starting, "ATTEMPT", 0.01)
    room, tries, given_up = Room(), 0, 0

    async def attempt() -> int:
        nonlocal tries, given_up
        tries += 1
        if tries == 3:
            return 3
        try:
            await asyncio.Event().wait()
        finally:
            given_up += 1
        return 0

    assert await when_it_is_there(attempt, room, asyncio.Event(), pauses=SHORT) == 3
    assert (room.history, given_up) == (["open", "closed"], 2)
    assert "there was no answer within" in caplog.text


async def test_a_stop_while_an_attempt_hangs_ends_it() -> None:
    stop = asyncio.Event()

    async def attempt() -> int:
        stop.set()
        await asyncio.Event().wait()
        return 0

    assert await when_it_is_there(attempt, Room(), stop) is None


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(ConfigError, match=r"state-dir: .*/file/state cannot be written \(Not a directory\): let"),
        writable("state-dir", tmp_path / "file" / "state", ConfigError),
    ):
        (tmp_path / "file" / "state").mkdir()
