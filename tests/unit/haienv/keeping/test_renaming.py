"""Another name for an environment: it is there under one of the two at every moment, whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from haienv.keeping import renaming
from haienv.keeping.removal import InUse
from haienv.keeping.renaming import rename
from haienv.shared.errors import DiskFull, Missing, Wrong
from haienv.store import manifest as manifests
from haienv.store.layout import EnvFolder
from haienv.store.names import EnvName, Owner
from haienv.store.references import folder_for, hold, use
from haienv.store.spec import Spec
from unit.haienv.envs_kit import ANN, env_of, publish


@pytest.fixture
def env(tmp_path: Path) -> EnvFolder:
    """An environment with two generations, the first of them current, with a kernel and variables."""
    made = env_of(tmp_path)
    for _ in range(2):
        publish(made, "six==1.17.0", spec=Spec(description="for pictures"), kernel=True, variables={"A": "1"})
    made.current_link.unlink()
    made.current_link.symlink_to("generations/1")
    made.folder.chmod(0o750)
    return made


@pytest.fixture
def new(tmp_path: Path) -> EnvFolder:
    return env_of(tmp_path, "pictures")


def to(env: EnvFolder, new: EnvFolder, *extended_by: EnvName) -> None:
    rename(env, new, extended_by=list(extended_by), say=print)


def test_all_of_it_is_there_under_the_new_name(env: EnvFolder, new: EnvFolder) -> None:
    before = [manifests.read(one.manifest) for one in env.generations()]
    inode = (env.generation(1).prefix / "lib/python3.11/site-packages/one.py").stat().st_ino
    to(env, new)
    assert not env.folder.exists()
    assert [one.number for one in new.generations()] == [1, 2]
    current = new.current()
    assert current is not None
    assert current.number == 1
    after = [manifests.read(one.manifest) for one in new.generations()]
    assert [one.name for one in after] == ["users/ann/pictures"] * 2
    assert [{**vars(one), "name": ""} for one in after] == [{**vars(one), "name": ""} for one in before]
    assert (new.generation(1).prefix / "lib/python3.11/site-packages/one.py").stat().st_ino == inode, "no copy"
    assert "for pictures" in new.spec.read_text()
    assert new.generation(2).lock.read_text() == "six==1.17.0\n"
    assert new.folder.stat().st_mode & 0o777 == 0o750
    assert (new.folder / "last").read_text() == "2\n", "no number is used a second time"


def test_its_kernel_starts_the_python_of_its_new_place(env: EnvFolder, new: EnvFolder) -> None:
    to(env, new)
    own, for_others = sorted(new.generation(1).folder.rglob("kernel.json"), key=lambda path: len(path.parts))
    for path in (own, for_others):
        text = path.read_text()
        assert str(new.generation(1).python) in text
        assert str(env.folder) not in text
        assert "pictures" in json.loads(text)["display_name"]


def refused(env: EnvFolder, new: EnvFolder, says: str, *extended_by: EnvName) -> None:
    place = sorted(path.name for path in env.folder.parent.iterdir())
    with pytest.raises((Wrong, InUse), match=says):
        to(env, new, *extended_by)
    assert sorted(path.name for path in env.folder.parent.iterdir()) == place
    assert [one.number for one in env.generations()] == [1, 2]


def test_a_name_that_is_taken_is_refused(env: EnvFolder, new: EnvFolder) -> None:
    publish(new)
    refused(env, new, "users/ann/pictures exists; choose another name, or `haienv remove` it")


def test_a_link_in_the_place_of_the_new_name_is_not_followed(env: EnvFolder, new: EnvFolder, tmp_path: Path) -> None:
    new.folder.symlink_to(tmp_path / "nowhere")
    refused(env, new, "users/ann/pictures exists")


def test_an_environment_that_is_used_keeps_its_name(env: EnvFolder, new: EnvFolder) -> None:
    one = env.generation(2)
    hold(folder_for(env.root, None), "task-7", use(one, env.name, "task", "task digits (7)"), one)
    refused(env, new, r"in use by task digits \(7\) \(@2\).*then rename it")


def test_so_does_one_that_others_extend(env: EnvFolder, new: EnvFolder) -> None:
    others = [EnvName(ANN, f"e{number}") for number in range(7)]
    refused(env, new, "users/ann/e0, .*users/ann/e4 extends users/ann/vision; remove these first", *others)


def test_so_does_one_with_a_draft(env: EnvFolder, new: EnvFolder) -> None:
    env.draft.mkdir()
    refused(env, new, "a draft of users/ann/vision is open; `haienv freeze")


def test_so_does_one_with_packages_of_conda_which_know_their_place(env: EnvFolder, new: EnvFolder) -> None:
    env.generation(2).lock.write_text("# conda: numpy 2.1 py311_0 https://c/x.conda sha256:0\n")
    refused(env, new, "conda")


def test_it_stays_with_its_owner(env: EnvFolder) -> None:
    refused(env, env_of(env.root, "vision", Owner("groups", "cv")), "cannot become one of groups/cv; `haienv clone`")


def test_one_that_is_not_there_is_missing(new: EnvFolder) -> None:
    with pytest.raises(Missing, match="there is no users/ann/other"):
        to(env_of(new.root, "other"), new)


@pytest.mark.parametrize("step", ["link_tree", "seal", "rename"])
def test_an_error_on_the_way_leaves_it_as_it_was(
    env: EnvFolder, new: EnvFolder, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    module = {"link_tree": renaming.snapshot, "seal": renaming.tree, "rename": renaming.os}[step]
    real = os.rename
    given = (
        full if step != "rename" else lambda old, to, **at: full() if Path(to) == new.folder else real(old, to, **at)
    )
    with monkeypatch.context() as patched:
        patched.setattr(module, step, given)
        with pytest.raises(DiskFull, match=r"is full: rename users/\S+ needs more"):
            to(env, new)
    assert [path.name for path in env.folder.parent.iterdir() if path.name != "jupyter"] == ["vision"]
    assert [one.number for one in env.generations()] == [1, 2]
