"""Boards that are served by a stand-in of TensorBoard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hai_lab.boards import processes
from hai_lab.boards.processes import Board, Boards


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small program in the place of TensorBoard."""
    monkeypatch.setattr(processes, "_PROGRAM", Path(__file__).with_name("stand_in.py"))


@pytest.fixture
async def begun(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[Board]]:
    """All boards that the test begins. They have ended before its event loop does."""
    made: list[Board] = []

    class Noted(Board):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(self)

    monkeypatch.setattr(processes, "Board", Noted)
    yield made
    for board in made:
        if board.alive:
            board.process.kill()
        await board.process.wait()
        board.process._transport.close()  # type: ignore[attr-defined]


@pytest.fixture
async def boards(begun: list[Board], stand_in: None) -> AsyncIterator[Boards]:
    """The boards of a server; they end with the test."""
    made = Boards()
    yield made
    made.close()
