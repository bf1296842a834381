"""The client as one file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import hai_client
import hai_slurm
from hai_client.archive import MAIN, build, main
from hai_client.rank.pod import SHIMS

PACKAGES = [Path(hai_client.__file__).parent, Path(hai_slurm.__file__).parent]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "hai.pyz"
    assert main([str(path)]) == 0
    return path


def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-I", *words], env=env, capture_output=True, text=True, check=False)


def test_the_same_packages_make_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    copies = [tmp_path / package.name for package in PACKAGES]
    for package, copy in zip(PACKAGES, copies, strict=True):
        shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
        for path in copy.rglob("*"):
            os.utime(path, (time.time() - 5e7,) * 2)
    build(tmp_path / "other.pyz", copies)
    assert (tmp_path / "other.pyz").read_bytes() == archive.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["other.pyz"]


def test_its_entry_point_can_be_read_without_zlib_and_it_holds_nothing_that_was_compiled(archive: Path) -> None:
    with zipfile.ZipFile(archive) as content:
        stored = [entry.filename for entry in content.infolist() if entry.compress_type == zipfile.ZIP_STORED]
        names = content.namelist()
    assert stored == ["__main__.py"]
    assert "__main__.py" in names
    assert "hai_client/job.py" in names
    shims = {f"{package}/shims/{name}" for package, shims in SHIMS.items() for name in shims}
    assert shims == {name for name in names if "/shims/" in name}
    assert not [name for name in names if "__pycache__" in name]


def test_on_the_path_of_modules_it_is_the_client(archive: Path) -> None:
    code = f"import sys; sys.path.append({str(archive)!r}); from hai_client import job; print(job.__file__)"
    assert run("-S", "-c", code).stdout == f"{archive}/hai_client/job.py\n"


@pytest.mark.parametrize("words", [[], ["submit"], ["--help"], ["list"]], ids=["nothing", "a verb", "help", "no login"])
def test_with_any_other_words_it_is_the_command(archive: Path, words: list[str], tmp_path: Path) -> None:
    done, same = (
        run(*start, *words, XDG_CONFIG_HOME=str(tmp_path)) for start in ([str(archive)], ["-m", "hai_client"])
    )
    assert (done.returncode, done.stdout, done.stderr) == (same.returncode, same.stdout, same.stderr)
    assert "hai" in done.stdout + done.stderr


def test_it_starts_a_rank(archive: Path, tmp_path: Path) -> None:
    assert run(str(archive), "rank").stderr == "usage: python -m hai_client.rank FOLDER\n"
    assert run(str(archive), "rank", str(tmp_path)).returncode == 0
    assert "spec.json" in (tmp_path / "status.json").read_text()


def test_a_place_that_cannot_be_written_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/proc/none/hai.pyz"]) == 1
    assert "/proc/none/hai.pyz cannot be written" in capsys.readouterr().err


def test_it_fits_into_a_config_map(tmp_path: Path) -> None:
    build(tmp_path / "hai.pyz")
    # A little more than half of the 1 MiB that Kubernetes takes in one ConfigMap (docs/install.md): room to grow.
    assert (tmp_path / "hai.pyz").stat().st_size < 600_000


def test_a_python_without_zlib_is_told_so() -> None:
    code = f"import sys; sys.modules['zlib'] = None; sys.argv = ['hai.pyz', 'rank']; exec({MAIN!r})"
    done = run("-c", code)
    assert done.returncode == 1
    assert "built without zlib" in done.stderr
