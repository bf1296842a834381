"""The kernel's events on real folders: which of them are told, with which path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hai_client.linux import inotify
from hai_client.linux.inotify import (
    CLOSE_WRITE,
    CREATE,
    DELETE,
    IGNORED,
    MOVE_SELF,
    MOVED_FROM,
    MOVED_TO,
    OVERFLOW,
    Inotify,
)

NAMES = {
    CLOSE_WRITE: "close",
    CREATE: "create",
    DELETE: "delete",
    IGNORED: "ignored",
    MOVE_SELF: "move self",
    MOVED_FROM: "from",
    MOVED_TO: "to",
    OVERFLOW: "overflow",
}


@pytest.fixture
def watch() -> Iterator[Inotify]:
    made = Inotify()
    yield made
    made.close()


def told(watch: Inotify) -> list[tuple[str, str]]:
    """The events since the last call: what, and the name of the path."""
    return [
        (next(word for kind, word in NAMES.items() if event.kind & kind), os.path.basename(event.path))  # noqa: PTH119
        for event in watch.read()
    ]


def test_a_file_is_made_written_and_removed(watch: Inotify, tmp_path: Path) -> None:
    assert watch.add(str(tmp_path))
    (tmp_path / "a.pt").write_bytes(b"x")
    (tmp_path / "a.pt").unlink()
    assert told(watch) == [("create", "a.pt"), ("close", "a.pt"), ("delete", "a.pt")]
    assert told(watch) == []


def test_a_file_that_is_only_read_is_not_told(watch: Inotify, tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(b"x")
    watch.add(str(tmp_path))
    (tmp_path / "a.pt").read_bytes()
    assert told(watch) == []


def test_both_sides_of_a_rename_have_the_same_cookie(watch: Inotify, tmp_path: Path) -> None:
    (tmp_path / "a.tmp").write_bytes(b"x")
    (tmp_path / "b.tmp").write_bytes(b"x")
    watch.add(str(tmp_path))
    (tmp_path / "a.tmp").rename(tmp_path / "a.pt")
    (tmp_path / "b.tmp").rename(tmp_path / "b.pt")
    events = list(watch.read())
    assert [(event.path, event.kind) for event in events] == [
        (str(tmp_path / "a.tmp"), MOVED_FROM),
        (str(tmp_path / "a.pt"), MOVED_TO),
        (str(tmp_path / "b.tmp"), MOVED_FROM),
        (str(tmp_path / "b.pt"), MOVED_TO),
    ]
    first, second, third, fourth = (event.cookie for event in events)
    assert first == second != third == fourth
    assert first != 0


def test_folders_are_told_apart_from_files(watch: Inotify, tmp_path: Path) -> None:
    watch.add(str(tmp_path))
    (tmp_path / "step-1").mkdir()
    (tmp_path / "a.pt").touch()
    assert [(event.path, event.is_folder) for event in watch.read() if event.kind & CREATE] == [
        (str(tmp_path / "step-1"), True),
        (str(tmp_path / "a.pt"), False),
    ]


def test_what_happens_below_a_folder_within_is_not_told(watch: Inotify, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    watch.add(str(tmp_path))
    (tmp_path / "deep" / "a.pt").touch()
    assert told(watch) == []


def test_events_of_several_folders_have_their_own_paths(watch: Inotify, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert watch.add(str(tmp_path / name))
    (tmp_path / "two" / "b.pt").touch()
    (tmp_path / "one" / "a.pt").touch()
    paths = [event.path for event in watch.read() if event.kind & CREATE]
    assert paths == [str(tmp_path / "two" / "b.pt"), str(tmp_path / "one" / "a.pt")]


def test_a_folder_that_is_removed_is_watched_no_more(watch: Inotify, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    watch.add(str(tmp_path / "gone"))
    assert len(watch) == 1
    (tmp_path / "gone").rmdir()
    assert told(watch) == [("ignored", "gone")]
    assert len(watch) == 0


def test_a_folder_that_is_moved_says_so_under_its_old_path(watch: Inotify, tmp_path: Path) -> None:
    (tmp_path / "draft").mkdir()
    watch.add(str(tmp_path / "draft"))
    (tmp_path / "draft").rename(tmp_path / "step-1")
    assert told(watch) == [("move self", "draft")]
    assert watch.add(str(tmp_path / "step-1"))
    assert len(watch) == 1, "it is the same folder"
    (tmp_path / "step-1" / "a.pt").touch()
    assert next(event.path for event in watch.read()) == str(tmp_path / "step-1" / "a.pt")


def test_a_link_is_followed_only_where_that_is_wanted(watch: Inotify, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert not watch.add(str(tmp_path / "link"))
    assert watch.add(str(tmp_path / "link"), follow=True)
    (tmp_path / "real" / "a.pt").touch()
    assert next(event.path for event in watch.read()) == str(tmp_path / "link" / "a.pt")


@pytest.mark.parametrize("name", ["missing", "file"])
def test_what_is_no_folder_is_not_watched(watch: Inotify, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    assert not watch.add(str(tmp_path / name))
    assert len(watch) == 0


def test_names_that_are_no_text_can_be_opened_by_their_path(watch: Inotify, tmp_path: Path) -> None:
    watch.add(str(tmp_path))
    odd = os.path.join(os.fsencode(tmp_path), b"\xff\xfe.pt")  # noqa: PTH118
    os.close(os.open(odd, os.O_CREAT | os.O_WRONLY))
    paths = {event.path for event in watch.read()}
    assert {os.fsencode(path) for path in paths} == {odd}


def test_more_events_than_one_read_takes_come_all_and_in_order(
    watch: Inotify, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Room for a few events: the kernel never cuts one in two.
    monkeypatch.setattr(inotify, "READ_BYTES", 100)
    watch.add(str(tmp_path))
    for number in range(50):
        (tmp_path / f"{number}").touch()
    assert [name for what, name in told(watch) if what == "create"] == [str(number) for number in range(50)]


def test_lost_events_are_told_as_lost(watch: Inotify, tmp_path: Path) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 100_000:
        pytest.skip(f"this machine keeps {most} events, too many to make here")
    watch.add(str(tmp_path))
    paths = [str(tmp_path / name) for name in "ab"]
    for number in range(most // 3 + 10):
        fd = os.open(paths[number % 2], os.O_CREAT | os.O_WRONLY)
        os.close(fd)
        os.unlink(paths[number % 2])  # noqa: PTH108
    events = told(watch)
    assert events[-1] == ("overflow", "")
    (tmp_path / "later").touch()
    assert ("create", "later") in told(watch), "it goes on afterwards"


def test_a_user_with_too_many_instances_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def inotify_init1(self, flags: int) -> int:
            return -1

    monkeypatch.setattr(inotify.ctypes, "CDLL", lambda *_, **__: Full())
    monkeypatch.setattr(inotify.ctypes, "get_errno", lambda: 24)
    with pytest.raises(OSError, match="Too many open files"):
        Inotify()
