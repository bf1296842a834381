"""The real TensorBoard on a Unix socket, where it is installed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hai_lab.boards.processes import Board, Boards

pytest.importorskip("tensorboard", reason="tensorboard is not installed here: pip install 'hai-lab[tensorboard]'")


async def test_tensorboard_answers_on_the_socket_and_ends_with_its_parent(begun: list[Board], tmp_path: Path) -> None:
    boards = Boards()
    try:
        board = boards.get(await boards.open(tmp_path))
        assert board is not None
        reader, writer = await asyncio.open_unix_connection(str(board.socket))
        writer.write(b"GET /data/environment HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert str(tmp_path) in (await reader.read()).decode()
        writer.close()
        assert board.process.stdin is not None
        board.process.stdin.close()
        assert await asyncio.wait_for(board.process.wait(), 30) == 0
    finally:
        boards.close()
