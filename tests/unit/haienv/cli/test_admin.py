"""`haienv init` without accounts: the folders of a volume of Kubernetes, by a job and by init containers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from haienv.cli import admin, parser
from haienv.shared.errors import HaienvError, Missing, Wrong
from haienv.store import site


def init(*words: str) -> None:
    arguments = parser.parse(["init", *words])
    assert admin._init(arguments) == 0


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HAIENV_ROOT", str(tmp_path / "envs"))
    return tmp_path / "envs"


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def test_the_makers_may_make_folders_and_take_away_nobody_elses(root: Path) -> None:
    init("--makers", str(os.getgid()), "--service", str(os.getuid()), "--builder", str(os.getuid()))
    for name in ("users", "groups", "references/users"):
        assert (mode(root / name), (root / name).stat().st_gid) == (0o1775, os.getgid())
    for name in ("", "base", "references", "references/service"):
        assert mode(root / name) & 0o022 == 0, name


def test_a_users_folders_are_made_by_the_account_that_runs_it_and_stay(root: Path) -> None:
    init("--makers", str(os.getgid()))
    init("--own-user", "ann", "--own-group", "cv")
    for name in ("users/ann", "references/users/ann"):
        assert (mode(root / name), (root / name).stat().st_uid) == (0o755, os.geteuid())
    assert mode(root / "groups/cv") == 0o3775
    (root / "users/ann/vision").mkdir()
    init("--own-user", "ann", "--own-group", "cv")
    assert (root / "users/ann/vision").is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another account")
def test_a_folder_of_another_account_is_not_taken_for_ones_own(root: Path) -> None:
    init("--makers", "0")
    (root / "users/ann").mkdir()
    os.chown(root / "users/ann", 12345, -1)
    with pytest.raises(Wrong, match=r"users/ann belongs to the account 12345, and this one is 0: .*chown -R"):
        init("--own-user", "ann")


def test_without_a_root_it_says_who_makes_one(root: Path) -> None:
    with pytest.raises(Missing, match=r"there is no .*users; an admin runs `haienv init --makers GID` first"):
        init("--own-user", "ann")


@pytest.mark.parametrize(
    "words", [("--own-user", "../ann"), ("--own-group", "a/b"), ("--makers", "-1"), ("--makers", "x")]
)
def test_odd_names_and_numbers_are_refused(root: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(HaienvError):
        init(*words)
    assert not root.exists()


def test_settings_of_all_builds_are_checked_before_anything_is_made(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("indexes = ['https://pypi.example/simple']\n[python]\ndownloads = false\n")
    init("--config", str(file))
    assert site.read(root).python_downloads is False
    assert mode(root / "config.toml") == 0o644
    file.write_text("[python]\ndownload = false\n")
    with pytest.raises(Wrong, match=r"--config: .*download: is not known"):
        init("--config", str(file))
    assert "downloads" in (root / "config.toml").read_text()
