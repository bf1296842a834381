"""Packed folders: what the original packs is read, and nothing in a file can run."""

from __future__ import annotations

import json
import os
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_ffrecord import FileReader, NotPacked, PackedFolder, pack_folder
from kit.ffrecord_files import laid_out, lay_out

MAGIC = b"piouhjgbr"
TREE = {"001.txt": b"one", "empty": b"", "sub/a.bin": b"\x00\xff" * 900, "sub/deep/b": b"b", "z": b"last"}


def names_and_numbers() -> OrderedDict[str, Any]:
    deep = OrderedDict(b=3)
    return OrderedDict([("001.txt", 0), ("empty", 1), ("sub", OrderedDict([("a.bin", 2), ("deep", deep)])), ("z", 4)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "folder"
    for name, data in TREE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


@pytest.fixture
def packed(tmp_path: Path, folder: Path) -> Path:
    pack_folder(folder, tmp_path / "packed.ffr")
    return tmp_path / "packed.ffr"


def test_the_file_is_that_of_the_original(packed: Path) -> None:
    """Samples in the order of names, then the magic and a pickle of OrderedDicts."""
    assert packed.read_bytes() == laid_out([*TREE.values(), MAGIC + pickle.dumps(names_and_numbers())])


@pytest.mark.parametrize("beside", [True, False], ids=["json", "pickle"])
def test_files_are_found_by_name(packed: Path, beside: bool) -> None:
    if not beside:
        packed.with_name("packed.ffr.json").unlink()
    with PackedFolder(packed) as found:
        assert found.structure == names_and_numbers()
        assert found.num_files() == 5
        assert {str(path): found.read_one(path).tobytes() for path, _ in found.walk()} == TREE
        assert [data.tobytes() for data in found.read(["z", Path("sub/deep/b")])] == [b"last", b"b"]
        assert found.list() == ["001.txt", "empty", "sub", "z"]
        assert found.list("sub") == ["a.bin", "deep"]
        assert found.list("sub", list_dir=False) == ["a.bin"]
        assert found.list(list_file=False) == ["sub"]
        assert found.list(recursive=True, list_dir=False) == [
            "001.txt", "empty", Path("sub/a.bin"), Path("sub/deep/b"), "z",
        ]  # fmt: skip
        assert (found.exists("sub/deep"), found.is_dir("sub/deep"), found.is_file("sub/deep")) == (True, True, False)
        assert (found.exists("sub/a.bin"), found.is_dir("sub/a.bin"), found.is_file("sub/a.bin")) == (True, False, True)
        assert not any(look("sub/a.bin/x") for look in (found.exists, found.is_dir, found.is_file))


def test_names_that_are_not_there(packed: Path) -> None:
    found = PackedFolder(packed)
    for call, error in (
        (lambda: found.read_one("no"), FileNotFoundError),
        (lambda: found.read_one("sub"), IsADirectoryError),
        (lambda: found.read(["z", "z/below"]), FileNotFoundError),
        (lambda: found.list("no"), FileNotFoundError),
        (lambda: found.list("z"), NotADirectoryError),
        (lambda: found.read("z"), TypeError),
    ):
        with pytest.raises(error):
            call()


def test_the_json_beside_is_used_only_for_its_own_file(packed: Path, tmp_path: Path) -> None:
    beside = packed.with_name("packed.ffr.json")
    kept = json.loads(beside.read_text())
    assert kept["tree"] == names_and_numbers()
    swapped = {**kept, "tree": {**kept["tree"], "001.txt": 4, "z": 0}}
    beside.write_text(json.dumps(swapped))
    assert PackedFolder(packed).read_one("z").tobytes() == b"one"
    for wrong in ({**swapped, "crc32": 1}, {**swapped, "files": 4}, {**swapped, "version": 2}, [], "no json"):
        beside.write_text(json.dumps(wrong) if wrong != "no json" else "{")
        assert PackedFolder(packed).read_one("z").tobytes() == b"last"


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("ran",)


def shared() -> OrderedDict[str, Any]:
    inner: OrderedDict[str, Any] = OrderedDict()
    for _ in range(64):
        inner = OrderedDict(a=inner, b=inner)
    return inner


def circle() -> OrderedDict[str, Any]:
    found: OrderedDict[str, Any] = OrderedDict(file=0)
    found["round"] = found
    return found


def deep() -> OrderedDict[str, Any]:
    found: OrderedDict[str, Any] = OrderedDict(file=0)
    for _ in range(300):
        found = OrderedDict(a=found)
    return found


class Sub(OrderedDict[str, Any]):
    pass


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (pickle.dumps(Evil()), "asks for posix.mkdir"),
        (pickle.dumps(OrderedDict(file=Evil())), "asks for posix.mkdir"),
        (b"cbuiltins\neval\n(S'1'\ntR.", "asks for builtins.eval"),
        (b"ccollections\nOrderedDict.fromkeys\n.", "asks for"),
        (pickle.dumps(Sub(file=0)), "asks for"),
        (pickle.dumps({"file": 0}), "dict where a folder should be"),
        (pickle.dumps(7), "int where a folder should be"),
        (pickle.dumps(OrderedDict(file=None)), "NoneType where a folder"),
        (pickle.dumps(OrderedDict(file=True)), "bool where a folder"),
        (pickle.dumps(OrderedDict([(5, 0)])), "name 5"),
        (pickle.dumps(OrderedDict([("..", OrderedDict(file=0))])), "name '..'"),
        (pickle.dumps(OrderedDict([("/etc/passwd", 0)])), "name '/etc/passwd'"),
        (pickle.dumps(OrderedDict([("a/../../b", 0)])), "name 'a/../../b'"),
        (pickle.dumps(OrderedDict([("", 0)])), "name ''"),
        (pickle.dumps(OrderedDict([("a\0b", 0)])), "name"),
        (pickle.dumps(OrderedDict(file=1)), "each of its 1 samples once"),
        (pickle.dumps(OrderedDict(file=-1)), "each of its 1 samples once"),
        (pickle.dumps(OrderedDict()), "each of its 1 samples once"),
        (pickle.dumps(OrderedDict(a=0, b=0)), "more than its 1 samples"),
        (pickle.dumps(shared()), "two places"),
        (pickle.dumps(circle()), "two places"),
        (pickle.dumps(deep()), "more than 200 deep"),
        (pickle.dumps(OrderedDict(file=0))[:-3], "cannot be loaded"),
        (b"\x80\xff.", "cannot be loaded"),
        (b"garc", "cannot be loaded"),
        (b"", "no table of names"),
    ],
)
def test_a_table_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: bytes, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = lay_out(tmp_path / "a.ffr", [b"data", MAGIC + table])
    with pytest.raises(NotPacked, match=r"a\.ffr: ") as raised:
        PackedFolder(file)
    assert why in str(raised.value)
    assert not (tmp_path / "ran").exists()


@given(at=st.integers(0, 200), new=st.binary(min_size=1, max_size=6))
def test_a_changed_table_gives_names_of_these_samples_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, at: int, new: bytes
) -> None:
    good = pickle.dumps(names_and_numbers())
    table = good[:at] + new + good[at + len(new) :]
    file = lay_out(tmp_path_factory.mktemp("any") / "a.ffr", [*TREE.values(), MAGIC + table])
    try:
        found = PackedFolder(file)
    except ValueError:
        return
    assert sorted(number for _, number in found.walk()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("samples", [[], [b"data"], [b"data", b"more"]], ids=len)
def test_a_file_of_other_samples_is_no_packed_folder(tmp_path: Path, samples: list[bytes]) -> None:
    with pytest.raises(ValueError, match="not a packed folder"):
        PackedFolder(lay_out(tmp_path / "a.ffr", samples))


def test_a_link_in_a_circle_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "sub" / "up").symlink_to(folder)
    with pytest.raises(ValueError, match="up is a link to a folder that it is in"):
        pack_folder(folder, tmp_path / "packed.ffr")
    assert not (tmp_path / "packed.ffr").exists()


def test_what_is_no_file_is_refused(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(ValueError, match="pipe is neither a file nor a folder"):
        pack_folder(folder, tmp_path / "packed.ffr")
    with pytest.raises(NotADirectoryError):
        pack_folder(folder / "z", tmp_path / "packed.ffr")


def test_progress_is_printed_as_the_original_prints_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack_folder(folder, tmp_path / "packed.ffr", verbose=True)
    assert capsys.readouterr().out.splitlines()[0] == f"0/5 {folder / '001.txt'}"


def test_an_empty_folder_can_be_packed(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    pack_folder(tmp_path / "empty", tmp_path / "packed.ffr")
    assert PackedFolder(tmp_path / "packed.ffr").list() == []
    assert FileReader(tmp_path / "packed.ffr").n == 1
