"""Rights that do not depend on the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hai_client.linux.rights import give_rights, make_folder

UMASKS = [0o000, 0o002, 0o022, 0o027, 0o077]


@contextmanager
def masked(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", UMASKS)
@pytest.mark.parametrize(("mode", "above"), [(0o700, 0o755), (0o711, 0o755), (0o755, 0o755), (0o700, 0o700)])
def test_a_folder_and_those_above_it_have_their_rights(tmp_path: Path, mask: int, mode: int, above: int) -> None:
    wanted = tmp_path / "a" / "b" / "c"
    with masked(mask):
        assert make_folder(wanted, mode, above=above)
    assert (rights(tmp_path / "a"), rights(wanted.parent), rights(wanted)) == (above, above, mode)


@pytest.mark.parametrize("mask", UMASKS)
@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_file_gets_what_the_umask_took(tmp_path: Path, mask: int, mode: int) -> None:
    with masked(mask):
        made = os.open(tmp_path / "file", os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    give_rights(made, mode)
    os.close(made)
    assert rights(tmp_path / "file") == mode


def test_what_is_there_keeps_its_rights(tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    place.chmod(0o2770)
    link = tmp_path / "link"
    link.symlink_to(place)
    assert not make_folder(place)
    assert not make_folder(str(link), 0o700)
    assert rights(place) == 0o2770


def test_a_folder_keeps_the_group_of_the_one_above_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o2755)
    with masked(0o077):
        make_folder(tmp_path / "made")
    assert rights(tmp_path / "made") == 0o2755


@pytest.mark.parametrize("target", [None, "nowhere"])
def test_what_is_no_folder_is_refused(tmp_path: Path, target: str | None) -> None:
    place = tmp_path / "place"
    if target is None:
        place.touch()
    else:
        place.symlink_to(tmp_path / target)
    with pytest.raises(FileExistsError):
        make_folder(place)
    assert not (tmp_path / "nowhere").exists()


def test_a_file_system_with_rights_of_its_own_takes_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, mode: int) -> None:
        raise PermissionError(1, f"{descriptor} {mode}")

    monkeypatch.setattr("hai_client.linux.rights.os.fchmod", refuse)
    with masked(0o077):
        assert make_folder(tmp_path / "made")
    assert rights(tmp_path / "made") == 0o700
