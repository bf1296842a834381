"""What a release is refused for before anything is built, and after."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hai_hub.cluster.release_folder import SIGNER, checked
from release import building, making, number
from release.building import CannotBuild


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with one commit, in place of this one."""
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nversion = "0.3.0"\n')
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "First"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    for module in (number, building):
        monkeypatch.setattr(module, "ROOT", folder)
    monkeypatch.setattr(number, "PLACES", ())
    monkeypatch.setattr(number.differences, "__defaults__", (folder,))
    monkeypatch.setattr(number.number, "__defaults__", (folder,))
    return folder


def pretend(monkeypatch: pytest.MonkeyPatch, *second: str) -> list[building.Plan]:
    """Each build writes a file with a text: the second one's are these, else the first one's."""
    plans: list[building.Plan] = []

    def build(source: Path, target: Path, plan: building.Plan, **_: object) -> None:
        plans.append(plan)
        target.mkdir(parents=True)
        names = second if len(plans) == 2 and second else ("a", "b")
        for name in names:
            (target / name[0]).write_text(name)

    monkeypatch.setattr(building, "build", build)
    return plans


def test_two_equal_builds_of_the_commit_become_the_release(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = pretend(monkeypatch)
    folder = making.make(key=None, images=False, target=tmp_path / "out")
    assert folder == tmp_path / "out" / "0.3.0"
    assert sorted(path.name for path in folder.iterdir()) == ["SHA256SUMS", "a", "b"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, capture_output=True, text=True, check=True).stdout
    assert [plan.commit for plan in plans] == [head.strip()] * 2
    assert plans[0] == plans[1]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (("a", "b2"), "differ in b:"),
        (("a",), "differ in b:"),
        (("a", "b", "c"), "differ in c:"),
        (("a3", "c"), "a, b, c"),
    ],
)
def test_builds_that_differ_are_no_release_and_are_kept_to_compare(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: tuple[str, ...], said: str
) -> None:
    pretend(monkeypatch, *second)
    with pytest.raises(CannotBuild, match=said):
        making.make(key=None, images=False, target=tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["differs"]


def test_a_changed_file_is_named_and_nothing_is_built(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = pretend(monkeypatch)
    (clone / "new.py").touch()
    with pytest.raises(CannotBuild, match=r"new\.py is not as it was committed: commit or remove it"):
        making.make(key=None, images=False, target=tmp_path)
    assert plans == []


def test_a_former_release_stays_where_the_new_one_fails(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, "a", "b2")
    (tmp_path / "0.3.0").mkdir()
    (tmp_path / "0.3.0" / "kept").touch()
    with pytest.raises(CannotBuild, match="differ"):
        making.make(key=None, images=False, target=tmp_path)
    assert (tmp_path / "0.3.0" / "kept").exists()


@pytest.mark.parametrize(
    ("key", "images", "programs", "said"),
    [
        (None, True, ["git"], "buildah is not there, so no images: .*apt install buildah.*--without images"),
        ("key", False, ["git"], "ssh-keygen is not there: .*--unsigned"),
        ("none", False, ["git", "ssh-keygen"], "--key: .*none is no file"),
    ],
)
def test_what_is_missing_is_named_with_the_remedy(
    clone: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str | None,
    images: bool,
    programs: list[str],
    said: str,
) -> None:
    plans = pretend(monkeypatch)
    (tmp_path / "key").touch()
    monkeypatch.setattr(shutil, "which", lambda name: name if name in programs else None)
    with pytest.raises(CannotBuild, match=said):
        making.make(key=tmp_path / key if key else None, images=images, target=tmp_path)
    assert plans == []


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_what_is_signed_here_is_what_is_checked_there(tmp_path: Path) -> None:
    key, folder = tmp_path / "key", tmp_path / "release"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    signers = tmp_path / "signers"
    signers.write_text(f"{SIGNER} {key.with_suffix('.pub').read_text()}")
    folder.mkdir()
    (folder / "digests.json").write_text('{"version": "0.3.0", "commit": "x", "images": {}}')
    making.write_sums(folder)
    making.sign(folder, key)
    assert checked(folder, signers=signers).version == "0.3.0"
    with pytest.raises(CannotBuild, match="--key: ssh-keygen does not sign with"):
        making.sign(folder, signers)
    assert not (folder / "SHA256SUMS.sig").exists()
