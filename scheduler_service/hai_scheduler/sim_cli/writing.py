"""Writes traces to a file or to the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hai_client.cli.shared.context import Context
from hai_scheduler.sim_cli.running import write_whole


def write_lines(lines: Iterable[str], path: str | None, context: Context) -> None:
    """Write the lines to the file, whole or not at all, or print them."""
    if path is None:
        for line in lines:
            context.out.line(line)
        return

    def write(target: Path) -> None:
        with target.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)

    write_whole("--output", path, write)
