"""The line of a terminal that says how far something is."""

from __future__ import annotations

import io

import pytest

from hai_client.cli.shared.output import Output
from hai_client.cli.shared.progress import ProgressLine


class Terminal:
    """What a terminal shows of what is written to it."""

    def __init__(self, *, watched: bool = True, width: int | None = None) -> None:
        self.out = Output(stdout=io.StringIO(), stderr=io.StringIO(), watched=watched, width=width)
        self.now = 0.0

    @property
    def written(self) -> str:
        assert isinstance(self.out.stderr, io.StringIO)
        return self.out.stderr.getvalue()

    @property
    def shown(self) -> str:
        """The last line, with what was written over."""
        line = ""
        for part in self.written.split("\r"):
            line = part + line[len(part) :]
        return line.rstrip()

    def line(self) -> ProgressLine:
        return ProgressLine(self.out, clock=lambda: self.now)


def test_the_line_is_written_over_and_gone_at_the_end() -> None:
    terminal = Terminal()
    with terminal.line() as show:
        terminal.now = 1.0
        show("sent 100 of 812 files")
        assert terminal.shown == "hai: sent 100 of 812 files"
        terminal.now = 2.0
        show("done")
        assert terminal.shown == "hai: done"
    assert terminal.shown == ""
    assert "\n" not in terminal.written
    assert terminal.written.endswith("\r")


def test_what_is_soon_done_shows_nothing_and_not_each_step_is_written() -> None:
    terminal = Terminal()
    with terminal.line() as show:
        terminal.now = 0.9
        show("early")
        assert terminal.written == ""
        for at in range(20):
            terminal.now = 1.0 + at / 100
            show(f"step {at}")
        assert terminal.written.count("step") == 2


def test_where_nobody_watches_nothing_is_written() -> None:
    terminal = Terminal(watched=False)
    with terminal.line() as show:
        terminal.now = 5.0
        show("sent 1")
    assert terminal.written == ""


@pytest.mark.parametrize("width", [40, 60])
def test_a_long_line_does_not_reach_the_edge(width: int) -> None:
    terminal = Terminal(width=width)
    with terminal.line() as show:
        terminal.now = 1.0
        show("x" * 200 + "\x1b[2J")
        assert len(terminal.shown) == width - 1
        assert "\x1b" not in terminal.written


def test_an_error_leaves_no_line_behind() -> None:
    terminal = Terminal()

    def fails() -> None:
        with terminal.line() as show:
            terminal.now = 1.0
            show("sent 1")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    assert "sent 1" in terminal.written
    assert terminal.shown == ""
