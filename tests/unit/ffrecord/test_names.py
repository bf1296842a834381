"""What is imported under which name, by which Python, and beside the original."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
import zlib
from pathlib import Path
from types import ModuleType

import pytest

from hai_ffrecord import FileReader, FileWriter, check_fs_align, checksums
from kit.ffrecord_files import laid_out

CLIENT = Path(__file__).parents[3] / "client" / "hfai"
SOURCES = sorted(path for name in ("hai_ffrecord", "ffrecord") for path in (CLIENT / name).rglob("*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(CLIENT)))
def test_python_38_can_read_it(source: Path) -> None:
    ast.parse(source.read_text(), feature_version=(3, 8))


ROUND = """
from ffrecord import FileReader, FileWriter
import sys
with FileWriter(sys.argv[1], 2) as writer:
    writer.write_one(b"one"); writer.write_one(b"two" * 50000)
reader = FileReader(sys.argv[1])
assert [bytes(s) for s in reader.read([1, 0])] == [b"two" * 50000, b"one"]
"""


def test_python_38_runs_it(tmp_path: Path) -> None:
    python = os.environ.get("HAI_TEST_PYTHON38")
    if python is None:
        pytest.skip("set HAI_TEST_PYTHON38 to the path of a python3.8")
    env = {"PYTHONPATH": str(CLIENT)}
    if subprocess.run([python, "-c", "import numpy"], env=env, capture_output=True, check=False).returncode:
        pytest.skip("the Python of HAI_TEST_PYTHON38 has no NumPy")
    subprocess.run([python, "-c", ROUND, str(tmp_path / "a.ffr")], env=env, check=True)
    assert (tmp_path / "a.ffr").read_bytes() == laid_out([b"one", b"two" * 50000])


def test_it_needs_numpy_and_nothing_of_the_platform() -> None:
    code = (
        "import sys, ffrecord, hai_ffrecord.__main__\n"
        "others = {'torch', 'hai_client', 'hfai', 'tqdm', 'pandas'}\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & others))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(CLIENT)}, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_originals_names_are_there() -> None:
    import ffrecord
    import ffrecord.fileio
    import ffrecord.package
    import ffrecord.utils

    assert ffrecord.__version__.startswith("1.4")
    for name in ("FileReader", "FileWriter", "PackedFolder", "checkFsAlign", "pack_folder"):
        assert name in ffrecord.__all__
        assert hasattr(ffrecord, name)
    assert ffrecord.fileio.FileReader is FileReader
    assert ffrecord.package.PackedFolder is ffrecord.PackedFolder
    assert callable(ffrecord.utils.dump)


def test_this_file_system_asks_for_nothing(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        assert check_fs_align(file.fileno()) is False


@pytest.mark.parametrize("size", [0, 1, 7, 1 << 20, (1 << 20) + 1, 3_000_000])
def test_checksums_are_those_of_zlib(size: int) -> None:
    data = os.urandom(size)
    assert checksums.crc32(data) == checksums.crc32_of(memoryview(data)) == zlib.crc32(data)
    assert checksums.crc32(data, 12345) == zlib.crc32(data, 12345)


def test_without_isal_checksums_are_made_by_zlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal", None)
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    assert checksums._fastest() is zlib.crc32


def test_with_isal_checksums_are_made_by_it() -> None:
    isal = pytest.importorskip("isal.isal_zlib", exc_type=ImportError)
    assert checksums._fastest() is isal.crc32


@pytest.fixture(scope="module")
def original() -> ModuleType:
    """The C++ part of HFAiLab's ffrecord, built by the reader of this test (docs/ffrecord.md says how)."""
    path = os.environ.get("HAI_FFRECORD_ORIGINAL")
    if path is None:
        pytest.skip("set HAI_FFRECORD_ORIGINAL to the path of the original's _ffrecord_cpp.*.so")
    spec = importlib.util.spec_from_file_location("_ffrecord_cpp", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("sizes", [[], [0], [5, 0, 70_000, 3 << 20, 1], list(range(2000))], ids=len)
def test_either_reads_what_the_other_wrote_and_the_bytes_are_the_same(
    original: ModuleType, tmp_path: Path, sizes: list[int]
) -> None:
    samples = [os.urandom(size) for size in sizes]
    ours, theirs = tmp_path / "ours.ffr", tmp_path / "theirs.ffr"
    for path, writer in (
        (ours, FileWriter(ours, len(samples))),
        (theirs, original.FileWriter(str(theirs), len(samples))),
    ):
        for sample in samples:
            writer.write_one(sample)
        writer.close()
        assert path.read_bytes() == laid_out(samples)
    order = list(range(len(samples)))[::-1]
    assert [found.tobytes() for found in FileReader(theirs).read(order)] == samples[::-1]
    assert [found.tobytes() for found in original.FileReader([str(ours)], True).read(order)] == samples[::-1]
