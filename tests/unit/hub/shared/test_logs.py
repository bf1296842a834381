"""Logs that stay small and can be shown."""

from __future__ import annotations

from pathlib import Path

from hai_hub.shared.logs import rotate, tail


def test_a_large_log_is_put_away_and_its_writers_go_on_in_the_same_file(tmp_path: Path) -> None:
    log = tmp_path / "hub.log"
    with log.open("ab", buffering=0) as writer:
        for number in range(5):
            writer.write(b"x" * 20 + str(number).encode())
            rotate(tmp_path, limit=10)
            assert log.stat().st_size == 0
        writer.write(b"small")
        rotate(tmp_path, limit=10)
    assert log.read_bytes() == b"small"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hub.log", "hub.log.1", "hub.log.2", "hub.log.3"]
    assert (tmp_path / "hub.log.1").read_bytes().endswith(b"4")


def test_the_tail_has_the_last_lines_without_control_characters(tmp_path: Path) -> None:
    log = tmp_path / "hub.log"
    log.write_bytes(b"one\ntwo \x1b[31mred\x1b[0m\n\xff\n")
    assert tail(log, 2) == "two [31mred[0m\n\ufffd"
    assert tail(log, since=4).startswith("two")
    assert tail(tmp_path / "missing.log") == ""
