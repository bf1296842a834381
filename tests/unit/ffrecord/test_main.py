"""`python -m hai_ffrecord`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hai_ffrecord import FileReader, pack_folder
from hai_ffrecord.__main__ import main
from kit.ffrecord_files import lay_out

CLIENT = Path(__file__).parents[3] / "client" / "hfai"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "folder"
    (root / "sub" / "none").mkdir(parents=True)
    (root / "one").write_bytes(b"1" * 2000)
    (root / "sub" / "two").write_bytes(b"22")
    return root


def tree(root: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in root.rglob("*")}


def test_a_folder_is_packed_and_unpacked(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder}.ffr: 2 files\n"
    assert main(["unpack", f"{folder}.ffr", "-o", str(tmp_path / "new")]) == 0
    assert tree(tmp_path / "new") == tree(folder)
    assert main(["unpack", f"{folder}.ffr"]) == 1
    assert "exists and is no empty folder" in capsys.readouterr().err


def test_other_samples_are_unpacked_by_their_numbers(tmp_path: Path) -> None:
    lay_out(tmp_path / "a.ffr", [b"one", b"", b"three"])
    (tmp_path / "a").mkdir()
    assert main(["unpack", str(tmp_path / "a.ffr")]) == 0
    assert tree(tmp_path / "a") == {"00000000.bin": b"one", "00000001.bin": b"", "00000002.bin": b"three"}


def test_what_is_damaged_is_not_unpacked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = lay_out(tmp_path / "a.ffr", [b"one", b"two"])
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    assert main(["unpack", str(file)]) == 1
    assert "sample 1 differs from its checksum" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.ffr"]


def test_info_says_what_is_there(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay_out(tmp_path / "a.ffr", [b"x" * 999, b"y"], old=True)
    pack_folder(folder, tmp_path / "b.ffr")
    assert main(["info", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert f"{tmp_path / 'a.ffr'}: 2 samples, 1.0 kB, index 36 B" in out
    assert "samples of 1 B to 999 B, 500 B on the average" in out
    assert "its index has no checksum" in out
    assert f"{tmp_path / 'b.ffr'}: a packed folder of 2 files" in out
    assert "2 files: 5 samples" in out
    assert main(["info", "--json", str(tmp_path / "b.ffr")]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["samples"], found["files"], found["largest"]) == (3, 2, 2000)


def test_verify_names_every_changed_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = lay_out(tmp_path / "a.ffr", [b"one", b"two"])
    bad = lay_out(tmp_path / "b.ffr", [bytes([at]) * 50 for at in range(40)])
    data, at = bytearray(bad.read_bytes()), FileReader(bad).get_offsets(0)
    data[at[3]] ^= 1
    data[at[30]] ^= 1
    bad.write_bytes(data)
    cut = tmp_path / "c.ffr"
    cut.write_bytes(good.read_bytes()[:20])
    assert main(["verify", str(good)]) == 0
    assert main(["verify", str(tmp_path)]) == 1
    found = capsys.readouterr()
    lines = found.out.splitlines()
    assert lines[0] == lines[1] == f"{good}: whole"
    assert [line.split(" differs")[0] for line in lines[2:4]] == [f"{bad}: sample 3", f"{bad}: sample 30"]
    assert lines[4].startswith(f"{cut} is damaged")
    assert found.err == "2 of 3 files are damaged\n"


def test_what_cannot_be_is_said_without_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(tmp_path / "missing.ffr")]) == 1
    assert capsys.readouterr().err == f"hai_ffrecord: {tmp_path / 'missing.ffr'} does not exist\n"
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 2


def test_it_is_started_as_a_module(tmp_path: Path) -> None:
    file = lay_out(tmp_path / "a.ffr", [b"one"])
    done = subprocess.run(
        [sys.executable, "-m", "hai_ffrecord", "verify", str(file)],
        env={"PYTHONPATH": str(CLIENT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"{file}: whole\n")
