"""Publication: whichever step a process dies at, the next one finds the environment as it was or as it should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.shared.errors import Missing, Wrong
from haienv.store import generations
from haienv.store.generations import changing, commit, recover
from haienv.store.layout import EnvFolder
from haienv.store.manifest import Manifest
from haienv.store.names import EnvName, Owner


def manifest(env: EnvFolder, number: int) -> Manifest:
    return Manifest(
        name=str(env.name), generation=number, digest="sha256:0", files=0, size=0, lock="sha256:1", python="3.11.7",
        interpreter="/usr/bin/python3", machine="x86_64", glibc="2.36", cuda=None, extends=None, extends_digest=None,
        requirements=(), built_by="ann", built_at="2026-01-01T00:00:00Z", kernel=False,
    )  # fmt: skip


@pytest.fixture
def env(tmp_path: Path) -> EnvFolder:
    made = EnvFolder(tmp_path, EnvName(Owner("users", "ann"), "vision"))
    with changing(made, "test", say=print, new=True):
        made.generation(1).folder.mkdir()
        commit(made, made.generation(1), manifest(made, 1), "one")
    return made


class DiedError(BaseException):
    """Stands for `kill -9`: nothing that comes after it is carried out."""


STEPS = ["generation spec", "note", "manifest", "spec", "publish"]


@pytest.mark.parametrize("dies_at", range(len(STEPS)), ids=STEPS)
def test_a_death_at_any_step_of_a_publication_is_taken_back(
    env: EnvFolder, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    steps = iter(range(len(STEPS)))

    def dying(real):
        def step(*args, **named):
            if next(steps) == dies_at:
                raise DiedError
            return real(*args, **named)

        return step

    with monkeypatch.context() as patched:
        patched.setattr(generations, "write_atomically", dying(generations.write_atomically))
        patched.setattr(Manifest, "write", dying(Manifest.write))
        patched.setattr(generations, "publish", dying(generations.publish))
        patched.setattr(generations, "recover", lambda _: None)
        env.generation(2).folder.mkdir()
        with pytest.raises(DiedError):
            commit(env, env.generation(2), manifest(env, 2), "two")
    assert env.current() == env.generation(1)
    recover(env)
    assert (env.spec.read_text(), env.current(), env.begun()) == ("one", env.generation(1), [env.generation(1)])
    assert not env.publishing.exists()


def test_a_death_after_the_rename_leaves_the_new_one(env: EnvFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    env.generation(2).folder.mkdir()
    commit(env, env.generation(2), manifest(env, 2), "two")
    env.publishing.write_text("2\n")
    recover(env)
    assert (env.spec.read_text(), env.current()) == ("two", env.generation(2))
    assert not env.publishing.exists()


def test_a_first_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    new = EnvFolder(tmp_path, EnvName(Owner("users", "ann"), "vision"))
    with pytest.raises(ZeroDivisionError), changing(new, "test", say=print, new=True):
        raise ZeroDivisionError
    assert list((tmp_path / "users" / "ann").iterdir()) == []


def test_what_is_gone_cannot_be_changed(tmp_path: Path) -> None:
    env = EnvFolder(tmp_path, EnvName(Owner("users", "ann"), "vision"))
    with pytest.raises(Missing, match="no users/ann/vision"), changing(env, "test", say=print):
        pass


def test_environments_are_private_a_groups_are_its_members_and_base_ones_are_for_all(tmp_path: Path) -> None:
    modes = {}
    for owner in (Owner("users", "ann"), Owner("groups", "no-such-group"), Owner("base")):
        env = EnvFolder(tmp_path, EnvName(owner, "vision"))
        generations.make_folder(env)
        modes[owner.level] = env.folder.stat().st_mode & 0o777
    assert modes == {"users": 0o700, "groups": 0o750, "base": 0o755}


def test_no_right_to_make_a_folder_is_said_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/shared/users")

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(Wrong, match=r"may not make users/ann/vision.*haienv init"):
        generations.make_folder(EnvFolder(tmp_path, EnvName(Owner("users", "ann"), "vision")))
