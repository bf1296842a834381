"""Access lists of folders, written as the kernel keeps them, and file systems that have none."""

from __future__ import annotations

import errno
import os
import stat
import struct
from pathlib import Path

import pytest

from haienv.shared import acl
from haienv.shared.acl import Access


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder on a file system with access lists."""
    made = tmp_path / "env"
    made.mkdir(mode=0o700)
    made.chmod(0o700)
    probe = tmp_path / "probe"
    probe.mkdir()
    try:
        acl.write(probe, Access(users={4711: acl.READ}))
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
        pytest.skip(f"the file system of {tmp_path} has no access lists")
    return made


def mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


@pytest.mark.parametrize(
    "access",
    [
        Access(users={4711: 5}),
        Access(groups={4712: 5}),
        Access(owner=7, owning_group=5, other=5, users={4711: 5, 4712: 1}, groups={10: 5, 9: 4}),
        Access(owner=5, owning_group=0, other=0, users={4711: 0}),
    ],
)
def test_a_list_that_is_written_is_read_again(folder: Path, access: Access) -> None:
    acl.write(folder, access)
    assert acl.read(folder) == access


def test_the_mask_admits_what_the_entries_have(folder: Path) -> None:
    acl.write(folder, Access(owning_group=1, users={4711: 4}, groups={4712: 2}))
    # With a list, the bits of the group in the mode are the mask.
    assert mode(folder) >> 3 & 7 == 7
    acl.write(folder, Access(users={4711: 5}))
    assert mode(folder) == 0o750


def test_without_users_and_groups_the_mode_says_all_and_the_list_is_gone(folder: Path) -> None:
    acl.write(folder, Access(users={4711: 5}))
    acl.write(folder, Access(owner=7, owning_group=5, other=1))
    assert mode(folder) == 0o751
    assert "system.posix_acl_access" not in os.listxattr(folder)
    assert acl.read(folder) == Access(owner=7, owning_group=5, other=1)


@pytest.mark.parametrize("special", [0, stat.S_ISGID, stat.S_ISVTX])
def test_special_bits_of_a_folder_stay(tmp_path: Path, special: int) -> None:
    tmp_path.chmod(0o700 | special)
    acl.write(tmp_path, Access(owner=7, owning_group=5, other=0))
    assert mode(tmp_path) == 0o750 | special


def test_a_folder_without_a_list_has_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o754)
    assert acl.read(tmp_path) == Access(owner=7, owning_group=5, other=4)


@pytest.mark.parametrize("code", [errno.ENOTSUP, errno.ENODATA])
def test_a_file_system_without_lists_has_modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(*_: object) -> bytes:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(acl.os, "getxattr", refuse)
    monkeypatch.setattr(acl.os, "removexattr", refuse)
    tmp_path.chmod(0o750)
    assert acl.read(tmp_path) == Access(owner=7, owning_group=5)
    acl.write(tmp_path, Access(owner=7, other=5))
    assert mode(tmp_path) == 0o705


def test_other_errors_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(acl.os, "getxattr", refuse)
    monkeypatch.setattr(acl.os, "removexattr", refuse)
    with pytest.raises(OSError, match="Input/output"):
        acl.read(tmp_path)
    with pytest.raises(OSError, match="Input/output"):
        acl.write(tmp_path, Access())
    with pytest.raises(FileNotFoundError):
        acl.read(tmp_path / "missing")


def test_the_bytes_are_those_of_the_kernels_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    monkeypatch.setattr(acl.os, "setxattr", lambda folder, name, data: written.append(data))
    acl.write(tmp_path, Access(owner=7, users={500: 5}, groups={600: 1}))
    [data] = written
    assert data[:4] == struct.pack("<I", 2)
    nobody = 0xFFFFFFFF
    assert list(struct.iter_unpack("<HHI", data[4:])) == [
        (0x01, 7, nobody), (0x02, 5, 500), (0x04, 0, nobody), (0x08, 1, 600), (0x10, 5, nobody), (0x20, 0, nobody),
    ]  # fmt: skip
