"""One process a folder: started once, ended with the server or by newer ones, and never open to others."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from hai_lab.boards import processes
from hai_lab.boards.processes import Boards
from hai_lab.problem import Problem
from kit.waiting import until


async def test_a_folder_is_served_once_and_alone(boards: Boards, tmp_path: Path) -> None:
    first, second = await asyncio.gather(boards.open(tmp_path), boards.open(tmp_path))
    assert first == second
    board = boards.get(first)
    assert board is not None
    assert await boards.open(tmp_path) == first
    assert boards.get(first) is board
    reader, writer = await asyncio.open_unix_connection(str(board.socket))
    writer.write(b"GET /data HTTP/1.0\r\n\r\n")
    assert f"{tmp_path} /data" in (await reader.read()).decode()
    writer.close()
    assert stat.S_IMODE(board.socket.parent.stat().st_mode) == 0o700


async def test_it_ends_with_its_parent(boards: Boards, tmp_path: Path) -> None:
    board = boards.get(await boards.open(tmp_path))
    assert board is not None
    assert board.process.stdin is not None
    board.process.stdin.close()  # as the kernel does when the server is killed
    assert await asyncio.wait_for(board.process.wait(), 20) == 0


async def test_one_that_has_ended_is_started_again(boards: Boards, tmp_path: Path) -> None:
    key = await boards.open(tmp_path)
    board = boards.get(key)
    assert board is not None
    board.process.kill()
    await board.process.wait()
    assert boards.get(key) is None
    assert await boards.open(tmp_path) == key
    assert boards.get(key) is not board


async def test_the_one_that_was_not_asked_for_longest_makes_room(
    boards: Boards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MOST", 2)
    first, second = [await boards.open(tmp_path / name) for name in ("a", "b")]
    assert boards.get(first) is not None
    third = await boards.open(tmp_path / "c")
    assert [boards.get(key) is not None for key in (first, second, third)] == [True, False, True]


async def test_why_it_does_not_start_is_said(boards: Boards, tmp_path: Path) -> None:
    with pytest.raises(Problem) as refused:
        await boards.open(tmp_path / "broken")
    assert refused.value.detail == "TensorBoard does not start: no plugin can be loaded"


async def test_one_that_never_answers_is_ended(boards: Boards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LONGEST_START_S", 0.0)
    with pytest.raises(Problem) as refused:
        await boards.open(tmp_path)
    assert "has not answered within" in refused.value.detail
    (board,) = boards._boards.values()
    assert await asyncio.wait_for(board.process.wait(), 20) != 0


async def test_closing_ends_all_and_leaves_nothing_behind(boards: Boards, tmp_path: Path) -> None:
    board = boards.get(await boards.open(tmp_path))
    assert board is not None
    boards.close()
    await asyncio.wait_for(board.process.wait(), 20)
    await until("the sockets to be gone", lambda: not board.socket.parent.exists())
    boards.close()
