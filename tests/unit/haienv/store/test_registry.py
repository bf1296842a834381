"""Finding environments by what users write, from names of folders, links and manifests alone."""

from __future__ import annotations

import grp
import os
from pathlib import Path

import pytest

from haienv.shared import locking
from haienv.shared.errors import Missing, Wrong
from haienv.store import names, registry
from haienv.store.names import BASE, GROUPS, USERS, EnvName, Owner
from haienv.store.registry import Caller, Registry
from unit.haienv.envs_kit import ANN, env_of, publish

CV, NLP, BOB = Owner(GROUPS, "cv"), Owner(GROUPS, "nlp"), Owner(USERS, "bob")
EVERYBODY = Owner(BASE)


@pytest.fixture
def known(tmp_path: Path) -> Registry:
    """What ann sees, who is in two groups."""
    return Registry(tmp_path, Caller("ann", ("nlp", "cv")))


def add(known: Registry, *owners: Owner, name: str = "vision") -> None:
    for owner in owners:
        publish(env_of(known.root, name, owner))


@pytest.mark.parametrize(
    ("there", "found"),
    [
        ([EVERYBODY, NLP, CV, ANN, BOB], "users/ann/vision"),
        ([EVERYBODY, NLP, CV, BOB], "groups/cv/vision"),
        ([EVERYBODY, NLP, BOB], "groups/nlp/vision"),
        ([EVERYBODY, BOB], "base/vision"),
    ],
)
def test_a_bare_name_is_ones_own_then_a_groups_then_one_of_all(known: Registry, there: list[Owner], found: str) -> None:
    add(known, *there)
    assert str(known.find(names.parse("vision")).name) == found


def test_the_owner_can_be_named(known: Registry) -> None:
    add(known, ANN, BOB, EVERYBODY)
    for text in ("users/bob/vision", "base/vision"):
        assert str(known.find(names.parse(text)).name) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("vision", "no 'vision' in users/ann and groups/cv and groups/nlp and base below .*; do you mean users/bob/"),
        ("vis", "do you mean users/bob/vision"),
        ("text", "`haienv list -a` shows all"),
        ("groups/cv/vision", "there is no 'vision' in groups/cv below"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_with_where_it_was_looked_for(known: Registry, text: str, says: str) -> None:
    add(known, BOB)
    with pytest.raises(Missing, match=says):
        known.find(names.parse(text))


def test_an_environment_without_a_current_generation_is_not_found(known: Registry) -> None:
    env = env_of(known.root)
    env.generations_folder.mkdir(parents=True)
    with pytest.raises(Missing):
        known.find(names.parse("vision"))
    add(known, EVERYBODY)
    assert known.find(names.parse("vision")).name == EnvName(EVERYBODY, "vision"), "the next owner is asked"


def test_one_whose_first_build_goes_on_or_was_cut_short_says_so(known: Registry) -> None:
    env = env_of(known.root)
    env.generation(1).folder.mkdir(parents=True)
    with locking.building(env.build_lock, "create users/ann/vision", user="ann", wait_s=0, say=print):  # noqa: SIM117
        with pytest.raises(Missing, match=r"users/ann/vision is being built: ann on .* does `create users/ann/vision`"):
            known.find(names.parse("vision"))
    with pytest.raises(Missing, match="its first build has not ended; `haienv create vision` with its packages builds"):
        known.find(names.parse("users/ann/vision"))


def test_one_that_cannot_be_looked_into_hides_no_other(known: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    add(known, EVERYBODY)
    closed = env_of(known.root, owner=CV)
    closed.generations_folder.mkdir(parents=True)
    real = os.lstat

    def lstat(path: Path) -> os.stat_result:
        if str(path).startswith(str(closed.folder)):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(registry.os, "lstat", lstat)
    access = os.access
    monkeypatch.setattr(registry.trust.os, "access", lambda path, mode: path != closed.folder and access(path, mode))
    with pytest.raises(Wrong, match=r"no right to read .*groups/cv/vision; its owner can share it with you"):
        known.find(names.parse("vision"))


def test_a_generation_is_found_by_its_number_or_is_the_current_one(known: Registry) -> None:
    env = env_of(known.root)
    for _ in range(3):
        publish(env)
    assert [known.generation(names.parse(text))[1].number for text in ("vision", "vision@1")] == [3, 1]
    env.generation(2).manifest.unlink()
    for number in (2, 9):
        with pytest.raises(Missing, match=f"users/ann/vision has no generation {number}; it has 1, 3"):
            known.generation(names.parse(f"vision@{number}"))


def test_a_link_that_names_no_generation_is_said(known: Registry) -> None:
    env = env_of(known.root)
    publish(env)
    env.current_link.unlink()
    env.current_link.symlink_to("elsewhere")
    with pytest.raises(Missing, match="has no generation current; it has 1"):
        known.generation(names.parse("vision"))


def test_what_is_to_be_changed_is_ones_own_and_no_generation(known: Registry) -> None:
    add(known, EVERYBODY)
    assert str(known.own(names.parse("vision")).name) == "users/ann/vision"
    assert str(known.own(names.parse("groups/cv/vision")).name) == "groups/cv/vision"
    with pytest.raises(Wrong, match="names a generation, and generations never change; write vision"):
        known.own(names.parse("vision@3"))


def test_lists_have_what_is_wrong_with_an_environment(known: Registry) -> None:
    add(known, ANN, EVERYBODY)
    env_of(known.root, "begun").generations_folder.mkdir(parents=True)
    gone, damaged = env_of(known.root, "gone"), env_of(known.root, "torn")
    for env in (gone, damaged):
        publish(env)
    gone.generation(1).manifest.unlink()
    damaged.generation(1).manifest.chmod(0o644)
    damaged.generation(1).manifest.write_text("{")
    found = {str(one.name): (one.manifest is not None, one.trouble) for one in known.listed()}
    assert found.pop("users/ann/torn")[1].endswith("line 1 column 2 (char 1)")
    assert found == {
        "base/vision": (True, ""),
        "users/ann/vision": (True, ""),
        "users/ann/begun": (False, "its first build has not ended"),
        "users/ann/gone": (False, "generation 1 is gone"),
    }


def test_only_folders_that_can_be_environments_are_listed(known: Registry, tmp_path: Path) -> None:
    add(known, ANN)
    place = tmp_path / "users" / "ann"
    (place / ".removed-1" / "generations").mkdir(parents=True)
    (place / "no-environment").mkdir()
    (place / "file").touch()
    (place / "link").symlink_to(place / "vision")
    (tmp_path / "users" / ".hidden" / "x" / "generations").mkdir(parents=True)
    assert [str(name) for name in known.names()] == ["users/ann/vision"]
    assert known.names([BOB]) == []
    assert Registry(tmp_path / "nowhere", known.caller).names() == []


def test_a_group_that_nobody_knows_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "groups" / "ml").mkdir(parents=True)
    found = Registry(tmp_path, Caller("ann", ("cv",)))
    with pytest.raises(Missing, match=r"^group: there is no group 'nosuch': choose one of cv, ml$"):
        found.own(names.parse("groups/nosuch/vision"))
    assert not (tmp_path / "groups" / "nosuch").exists()
    # Groups of the caller, those that have a folder, and Unix groups.
    for group in ("cv", "ml", grp.getgrgid(os.getgid()).gr_name):
        assert str(found.own(names.parse(f"groups/{group}/vision")).name) == f"groups/{group}/vision"
    with pytest.raises(Missing, match="you are in none, and none has a folder"):
        Registry(tmp_path / "new", Caller("ann", ())).own(names.parse("groups/nosuch/vision"))
