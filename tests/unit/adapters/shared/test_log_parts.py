"""Parts of a log in a folder where others may write as well."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hai_scheduler.adapters.shared.log_parts import read_log


def part(folder: Path, start: int) -> Path:
    return folder / f"{start:020d}.log"


def text(folder: Path) -> bytes:
    return read_log(folder, offset=0, limit=10_000, final=True).data


@pytest.mark.parametrize(
    "name", ["notes.log", "5.log", "0x00000000000000000000.log", f"{7:020d}.log.bak", "²" * 20 + ".log"]
)
def test_what_is_not_named_as_a_part_is_no_part(tmp_path: Path, name: str) -> None:
    part(tmp_path, 0).write_bytes(b"mine\n")
    (tmp_path / name).write_bytes(b"other\n")
    assert text(tmp_path) == b"mine\n"


def test_no_link_is_followed_and_no_pipe_waited_for(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret\n")
    log = tmp_path / "log"
    log.mkdir()
    part(log, 0).write_bytes(b"mine\n")
    part(log, 5).symlink_to(secret)
    assert text(log) == b"mine\n"
    part(log, 5).unlink()
    os.mkfifo(part(log, 5))
    assert text(log) == b"mine\n"
    part(log, 5).unlink()
    part(log, 5).mkdir()
    assert text(log) == b"mine\n"
