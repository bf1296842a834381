"""The port to environments of haienv, over every adapter."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Protocol

import pytest

from hai_scheduler.adapters.environments import listing
from hai_scheduler.adapters.environments.folder import HaienvFolder
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.ports.haienvs import HaienvFault, Haienvs, UnknownHaienv, Use
from kit import haienv_folders
from kit.builders import a_pin
from kit.memory.clock import VirtualClock
from kit.memory.haienvs import MemoryHaienvs


class World(Protocol):
    """Environments that a test publishes and damages."""

    haienvs: Haienvs

    def publish(self, pin: Pin) -> None: ...

    def remove(self, pin: Pin) -> None: ...

    def write_other_digest(self, pin: Pin) -> None: ...

    def share(self, name: str) -> None: ...


class MemoryWorld:
    def __init__(self) -> None:
        self.memory = MemoryHaienvs(clock=VirtualClock())
        self.haienvs: Haienvs = self.memory

    def publish(self, pin: Pin) -> None:
        self.memory.publish(pin)

    def remove(self, pin: Pin) -> None:
        self.memory.remove(pin)

    def write_other_digest(self, pin: Pin) -> None:
        self.memory.publish(a_pin(pin.name, generation=pin.generation, digest="sha256:other"))

    def share(self, name: str) -> None:
        self.memory.shared.add(name)


class FolderWorld:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.haienvs: Haienvs = HaienvFolder(root)

    def publish(self, pin: Pin) -> None:
        haienv_folders.publish(self.root, pin)
        # As haienv makes them: nobody else gets in.
        (self.root / pin.name).chmod(0o750)

    def remove(self, pin: Pin) -> None:
        shutil.rmtree(self.root / pin.name / "generations" / str(pin.generation))

    def write_other_digest(self, pin: Pin) -> None:
        haienv_folders.write_manifest(self.root, a_pin(pin.name, generation=pin.generation, digest="sha256:other"))

    def share(self, name: str) -> None:
        (self.root / name).chmod(0o755)


@pytest.fixture(params=["memory", "folder"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return MemoryWorld() if request.param == "memory" else FolderWorld(tmp_path / "root")


async def found(world: World, text: str, user: str = "ann", groups: tuple[str, ...] = ("cv", "ml")) -> str:
    return (await world.haienvs.find(user, groups, text)).reference


async def test_a_bare_name_is_ones_own_then_a_groups_then_a_base_one(world: World) -> None:
    world.publish(a_pin("base/vision", generation=1))
    assert await found(world, "vision") == "base/vision@1"
    world.publish(a_pin("groups/ml/vision", generation=2))
    assert await found(world, "vision") == "groups/ml/vision@2"
    world.publish(a_pin("groups/cv/vision", generation=3))
    assert await found(world, "vision") == "groups/cv/vision@3"
    world.publish(a_pin("users/ann/vision", generation=4))
    assert await found(world, "vision") == "users/ann/vision@4"
    assert await found(world, "vision", user="bob", groups=()) == "base/vision@1"


async def test_the_current_generation_is_meant_unless_a_number_is_given(world: World) -> None:
    for number in (1, 2):
        world.publish(a_pin(generation=number))
    assert await found(world, "vision") == "users/ann/vision@2"
    assert await found(world, "vision@1") == "users/ann/vision@1"
    assert await found(world, "users/ann/vision@1") == "users/ann/vision@1"
    with pytest.raises(UnknownHaienv, match="vision"):
        await found(world, "vision@3")


async def test_a_pin_has_what_the_manifest_says_and_the_environments_variables(world: World) -> None:
    pin = a_pin(variables={"OMP_NUM_THREADS": "4"})
    world.publish(pin)
    assert await world.haienvs.find("ann", (), "vision") == pin
    assert world.haienvs.prefix(pin) == f"{world.haienvs.root}/users/ann/vision/generations/3/prefix"


@pytest.mark.parametrize("text", ["nothing", "base/nothing", "groups/cv/nothing@2"])
async def test_what_is_not_there_is_unknown(world: World, text: str) -> None:
    world.publish(a_pin())
    with pytest.raises(UnknownHaienv, match="there is no"):
        await found(world, text)


async def test_the_list_has_ones_own_the_groups_and_base_in_this_order(world: World) -> None:
    known = ["users/ann/vision", "groups/cv/vision", "groups/ml/text", "base/vision"]
    others = ["groups/nlp/no", "users/bob/no"]
    for name in sorted([*known, *others]):
        world.publish(a_pin(name, generation=1))
    world.publish(a_pin("users/ann/vision", generation=2))
    found = await world.haienvs.listed("ann", ("cv", "ml"))
    assert [one.name for one in found.items] == known
    assert not found.cut
    own = found.items[0]
    assert (own.generation, own.generations, own.digest, own.python) == (2, (1, 2), a_pin().digest, a_pin().python)
    assert (own.files, own.size, own.draft, own.trouble) == (1, 1, False, "")
    every = await world.haienvs.listed("ann", (), everybodys=True)
    assert {one.name for one in every.items} == {*known, *others}
    assert [one.name for one in (await world.haienvs.listed("eve", ())).items] == ["base/vision"]


async def test_what_is_shared_with_everybody_is_listed_last_and_found(world: World) -> None:
    world.publish(a_pin("users/bob/shared"))
    world.publish(a_pin("base/torch"))
    world.share("users/bob/shared")
    assert [one.name for one in (await world.haienvs.listed("ann", ())).items] == ["base/torch", "users/bob/shared"]
    assert await found(world, "users/bob/shared") == "users/bob/shared@3"


async def test_one_is_shown_as_its_name_is_found(world: World) -> None:
    for number in (1, 2):
        world.publish(a_pin(generation=number))
    shown = await world.haienvs.shown("ann", (), "vision@1")
    assert (shown.found.name, shown.generation, shown.found.generation) == ("users/ann/vision", 1, 2)
    assert shown.prefix == f"{world.haienvs.root}/users/ann/vision/generations/1/prefix"
    with pytest.raises(UnknownHaienv):
        await world.haienvs.shown("ann", (), "nothing")
    with pytest.raises(UnknownHaienv):
        await world.haienvs.shown("bob", (), "users/ann/vision")


async def test_a_prefix_says_which_generation_it_is(world: World) -> None:
    pin = a_pin()
    world.publish(pin)
    assert await world.haienvs.in_folder(world.haienvs.prefix(pin)) == "users/ann/vision@3"
    for other in ("/usr", world.haienvs.root, f"{world.haienvs.prefix(pin)}/bin"):
        assert await world.haienvs.in_folder(other) is None


async def test_a_generation_that_is_gone_or_another_one_is_told(world: World) -> None:
    pin = a_pin()
    world.publish(pin)
    await world.haienvs.check("ann", pin)
    world.write_other_digest(pin)
    with pytest.raises(HaienvFault, match="users/ann/vision@3"):
        await world.haienvs.check("ann", pin)
    world.remove(pin)
    with pytest.raises(HaienvFault, match=r"users/ann/vision@3.*gone"):
        await world.haienvs.check("ann", pin)


async def test_references_are_written_replaced_and_removed(world: World) -> None:
    async def held() -> dict[str, str]:
        return {key: f"{one.name}@{one.generation}" for key, one in (await world.haienvs.held()).items()}

    for pin in (a_pin(), a_pin(generation=4), a_pin("base/torch", generation=1)):
        world.publish(pin)
    assert await held() == {}
    await world.haienvs.release("nothing")
    await world.haienvs.hold("a.task-1", Use(name="users/ann/vision", generation=3, what="task 1 of ann"))
    await world.haienvs.hold("a.task-2", Use(name="base/torch", generation=1, what="task 2 of bob"))
    assert await held() == {"a.task-1": "users/ann/vision@3", "a.task-2": "base/torch@1"}
    await world.haienvs.hold("a.task-1", Use(name="users/ann/vision", generation=4, what="task 1 of ann"))
    assert await held() == {"a.task-1": "users/ann/vision@4", "a.task-2": "base/torch@1"}
    await world.haienvs.hold("a.task-1", Use(name="users/ann/vision", generation=5, what="task 1 of ann"))
    assert await held() == {"a.task-2": "base/torch@1"}, "there is no such generation"
    await world.haienvs.release("a.task-2")
    assert await held() == {}


# --- what only a folder has


def folder(tmp_path: Path) -> FolderWorld:
    return FolderWorld(tmp_path / "root")


async def test_references_outlive_the_process_and_keep_a_generation(tmp_path: Path) -> None:
    from haienv.store.layout import EnvFolder
    from haienv.store.names import EnvName, Owner
    from haienv.store.references import users_of

    world = folder(tmp_path)
    pin = a_pin()
    world.publish(pin)
    await world.haienvs.hold("a.task-1", Use(name=pin.name, generation=3, what="task 1 of ann"))
    env = EnvFolder(world.root, EnvName(Owner("users", "ann"), "vision"))
    assert users_of(env, env.generation(3)) == ["task 1 of ann"]
    again = HaienvFolder(world.root)
    assert (await again.held()).keys() == {"a.task-1"}
    await HaienvFolder(world.root).release("a.task-1")
    assert users_of(env, env.generation(3)) == []
    assert list((world.root / "references").rglob("*.json")) == []


async def test_everybody_can_read_references_whatever_the_umask_is(tmp_path: Path) -> None:
    world = folder(tmp_path)
    world.publish(a_pin("base/torch"))
    before = os.umask(0o077)
    try:
        await world.haienvs.hold("a.task-1", Use(name="base/torch", generation=3, what="task 1 of ann"))
    finally:
        os.umask(before)
    [file] = (world.root / "references").rglob("*.json")
    assert file.stat().st_mode & 0o777 == 0o644
    assert {part.stat().st_mode & 0o777 for part in file.parents if part.is_relative_to(world.root / "references")} == {
        0o755
    }


@pytest.mark.parametrize("text", ["../../etc", "users/../x", "vision@x", "a b", "users/ann", "", "x" * 300])
async def test_what_is_no_name_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(HaienvFault, match=r"is not a name|has no number"):
        await found(folder(tmp_path), text)


async def test_groups_and_other_users_where_all_files_belong_to_one_account(tmp_path: Path) -> None:
    world = folder(tmp_path)
    world.publish(a_pin("groups/nlp/text"))
    with pytest.raises(UnknownHaienv, match="belongs to the group nlp, and ann is not in it"):
        await found(world, "groups/nlp/text")
    assert await found(world, "groups/nlp/text", groups=("nlp",)) == "groups/nlp/text@3"
    world.publish(a_pin("users/bob/own"))
    (world.root / "users/bob/own").chmod(0o755)
    assert await found(world, "users/bob/own") == "users/bob/own@3"
    (world.root / "users/bob/own").chmod(0o750)
    with pytest.raises(UnknownHaienv, match="is not shared with ann; ask bob"):
        await found(world, "users/bob/own")
    assert await found(world, "users/bob/own", user="bob") == "users/bob/own@3"


async def test_the_list_says_what_is_wrong_with_an_environment_and_goes_on(tmp_path: Path) -> None:
    world = folder(tmp_path)
    for name in ("a", "b", "c", "d", "e"):
        world.publish(a_pin(f"users/ann/{name}"))
    place = world.root / "users/ann"
    (place / "a/generations/3/manifest.json").write_text("{")
    (place / "b/generations/3/manifest.json").unlink()
    os.mkfifo(place / "b/generations/3/manifest.json")
    (place / "c/current").unlink()
    (place / "d").chmod(0o777)
    (place / "e/draft/prefix").mkdir(parents=True)
    (place / ".odd").mkdir()
    items = {one.name.rpartition("/")[2]: one for one in (await world.haienvs.listed("ann", ())).items}
    assert "cannot be read" in items["a"].trouble
    assert "is no file of at most" in items["b"].trouble
    assert "its first build has not ended" in items["c"].trouble
    assert "everybody can write" in items["d"].trouble
    assert (items["e"].draft, items["e"].trouble, items["a"].generation) == (True, "", None)


async def test_a_list_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = folder(tmp_path)
    for name in ("a", "b", "c"):
        world.publish(a_pin(f"users/ann/{name}"))
    monkeypatch.setattr(listing, "MOST_LISTED", 2)
    few = await world.haienvs.listed("ann", ())
    assert ([one.name for one in few.items], few.cut) == (["users/ann/a", "users/ann/b"], True)
    monkeypatch.setattr(listing, "MOST_LISTED", 9)
    monkeypatch.setattr(listing, "MOST_BYTES", 100)
    few = await world.haienvs.listed("ann", ())
    assert (len(few.items), few.cut) == (1, True)


async def test_a_prefix_is_known_by_a_link_to_it(tmp_path: Path) -> None:
    world = folder(tmp_path)
    world.publish(a_pin())
    assert await world.haienvs.in_folder(str(world.root / "users/ann/vision/current/prefix")) == "users/ann/vision@3"


async def test_a_damaged_manifest_a_missing_python_and_a_pipe_are_told(tmp_path: Path) -> None:
    world = folder(tmp_path)
    pin = a_pin(interpreter=sys.executable)
    world.publish(pin)
    place = world.root / pin.name / "generations/3"
    (place / "prefix/bin/python").unlink()
    with pytest.raises(HaienvFault, match="there is no Python in"):
        await world.haienvs.check("ann", pin)
    (place / "manifest.json").write_text("{")
    with pytest.raises(HaienvFault, match=r"is damaged: .*cannot be read"):
        await world.haienvs.check("ann", pin)
    (place / "manifest.json").unlink()
    os.mkfifo(place / "manifest.json")
    with pytest.raises(HaienvFault, match="is no file of at most"):
        await world.haienvs.check("ann", pin)
    (place / "manifest.json").unlink()
    with (place / "manifest.json").open("w") as file:
        file.truncate(1 << 30)
    with pytest.raises(HaienvFault, match="is no file of at most"):
        await found(world, "vision")
