"""What the service asks of haienv's folder: names that mean a generation, and folders that were damaged since."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hai_scheduler.adapters.environments import answers
from hai_scheduler.adapters.environments.lookup import check, find, folder_of, main, name_of
from hai_scheduler.adapters.environments.reading import LONGEST
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.ports.haienvs import HaienvFault, UnknownHaienv
from kit.builders import a_pin
from kit.haienv_folders import publish, write_manifest

PIN = a_pin(variables={"CUDA_HOME": "/cuda"})


@pytest.fixture
def root(tmp_path: Path) -> str:
    publish(tmp_path, PIN)
    return str(tmp_path)


def generation(root: str, pin: Pin = PIN) -> Path:
    return Path(root) / pin.name / "generations" / str(pin.generation)


# -- names ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["vision", "users/ann/vision", "vision@3", "users/ann/vision@3"])
def test_a_name_means_the_generation_that_is_current_or_named(root: str, text: str) -> None:
    assert find(root, "ann", (), text)[0] == PIN


def test_a_short_name_is_the_users_own_then_that_of_their_groups_then_that_of_everybody(root: str) -> None:
    team, base = a_pin("groups/cv/vision"), a_pin("base/vision")
    publish(Path(root), team)
    publish(Path(root), base)
    assert find(root, "ann", ("cv",), "vision")[0].name == "users/ann/vision"
    assert find(root, "bob", ("cv",), "vision")[0].name == "groups/cv/vision"
    assert find(root, "bob", (), "vision")[0].name == "base/vision"


def test_groups_of_the_hub_whose_names_haienv_does_not_allow_are_left_out(root: str) -> None:
    publish(Path(root), a_pin("groups/cv/deep"))
    assert find(root, "bob", ("../..", "", "ä", "cv"), "deep")[0].name == "groups/cv/deep"


@pytest.mark.parametrize("text", ["none", "vision@9", "users/bob/vision"])
def test_what_there_is_not_is_unknown(root: str, text: str) -> None:
    with pytest.raises(UnknownHaienv):
        find(root, "ann", (), text)


@pytest.mark.parametrize("text", ["", "..", "users/../ann/vision", "vision@x", "a/b", "/etc/passwd"])
def test_what_is_no_name_is_a_fault_and_no_path(root: str, text: str) -> None:
    with pytest.raises(HaienvFault):
        find(root, "ann", (), text)


def test_an_environment_without_an_env_toml_has_no_variables(root: str) -> None:
    (generation(root) / "env.toml").unlink()
    assert find(root, "ann", (), "vision")[0].variables == {}


def test_too_many_variables_are_refused_as_each_task_would_store_them(root: str) -> None:
    (generation(root) / "env.toml").write_text(f'[variables]\nA = "{"x" * (64 * 1024 - 1)}"\n')
    assert len(find(root, "ann", (), "vision")[0].variables["A"]) == 64 * 1024 - 1
    (generation(root) / "env.toml").write_text(f'[variables]\nA = "{"x" * 64 * 1024}"\n')
    with pytest.raises(HaienvFault, match="its variables have more than 65536 characters together"):
        find(root, "ann", (), "vision")


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(LONGEST + 1)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("name", "damage"), [("manifest.json", huge), *[("env.toml", damage) for damage in (fifo, link, huge, folder)]]
)
def test_a_file_that_might_never_end_is_not_read(root: str, name: str, damage: Callable[[Path], None]) -> None:
    """Users write these folders themselves."""
    damage(generation(root) / name)
    with pytest.raises(HaienvFault, match=f"{name}: is no file of at most"):
        find(root, "ann", (), "vision")


@pytest.mark.parametrize("damage", [fifo, link, folder])
def test_what_has_no_file_as_its_manifest_is_no_generation(root: str, damage: Callable[[Path], None]) -> None:
    damage(generation(root) / "manifest.json")
    with pytest.raises(UnknownHaienv, match="users/ann/vision has no generation 3"):
        find(root, "ann", (), "vision")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_manifest_that_cannot_be_understood_is_a_fault(root: str, text: str) -> None:
    (generation(root) / "manifest.json").write_text(text)
    with pytest.raises(HaienvFault):
        find(root, "ann", (), "vision")
    with pytest.raises(
        HaienvFault, match=r"vision@3, which this task is pinned to, is damaged: .*; submit the task again"
    ):
        check(root, PIN.name, 3, PIN.digest)


# -- a pin that is used later ---------------------------------------------------------------------------------


def test_a_generation_that_is_as_it_was_passes(root: str) -> None:
    check(root, PIN.name, 3, PIN.digest)


def remove(root: str) -> None:
    (generation(root) / "manifest.json").unlink()


def replace(root: str) -> None:
    write_manifest(Path(root), a_pin(digest="sha256:other"))


def without_python(root: str) -> None:
    (generation(root) / "prefix" / "bin" / "python").unlink()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (remove, "is gone: there is no .*manifest.json; submit the task again, or bring back the folder from a backup"),
        (replace, "is another one now: its manifest has sha256:other, not sha256:3+; submit"),
        (without_python, "is damaged: there is no Python in .*prefix; submit"),
        (lambda root: fifo(generation(root) / "manifest.json"), "is damaged: .* is no file"),
    ],
    ids=["gone", "another", "no python", "a pipe"],
)
def test_a_generation_that_changed_since_is_named_with_the_remedy(
    root: str, damage: Callable[[str], None], said: str
) -> None:
    damage(root)
    with pytest.raises(HaienvFault, match=f"^environment users/ann/vision@3, which this task is pinned to, {said}"):
        check(root, PIN.name, 3, PIN.digest)


def test_a_python_that_leads_nowhere_here_may_lead_somewhere_in_a_pod(root: str) -> None:
    without_python(root)
    (generation(root) / "prefix" / "bin" / "python").symlink_to("/in/the/pod/alone/python")
    check(root, PIN.name, 3, PIN.digest)


@pytest.mark.parametrize("name", ["vision", "..", "users/../x/y"])
def test_a_pin_has_a_full_name(root: str, name: str) -> None:
    with pytest.raises(HaienvFault):
        folder_of(root, name, 3)


# -- the other way round ----------------------------------------------------------------------------------------


def test_the_prefix_of_a_generation_has_its_name_through_links_too(root: str, tmp_path: Path) -> None:
    prefix = generation(root) / "prefix"
    assert name_of(root, str(prefix)) == "users/ann/vision@3"
    assert name_of(root, str(Path(root) / PIN.name / "current" / "prefix")) == "users/ann/vision@3"
    (tmp_path / "link").symlink_to(prefix)
    assert name_of(root, str(tmp_path / "link")) == "users/ann/vision@3"


@pytest.mark.parametrize(
    "below", ["", "users/ann/vision", "users/ann/vision/generations/3", "users/ann/vision/generations/3/prefix/bin",
              "users/ann/vision/generations/x/prefix", "a/generations/3/prefix", "generations/3/prefix"],
)  # fmt: skip
def test_another_folder_has_none(root: str, below: str) -> None:
    assert name_of(root, str(Path(root) / below)) is None
    assert name_of(root, "/usr") is None


# -- as a program -------------------------------------------------------------------------------------------------


def answered(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    main(list(words))
    return json.loads(capsys.readouterr().out)


def test_it_answers_as_json(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert answers.pin_of(answered(capsys, root, "find", "ann", "", "vision")) == PIN
    assert answered(capsys, root, "check", PIN.name, "3", PIN.digest) == {}


def test_groups_are_one_word(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    publish(Path(root), a_pin("groups/cv/deep"))
    assert answered(capsys, root, "find", "bob", "ml,,cv", "deep")["name"] == "groups/cv/deep"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("find", "ann", "", "none"), "UnknownHaienv"),
        (("find", "ann", "", ".."), "HaienvFault"),
        (("check", "users/ann/none", "3", "x"), "HaienvFault"),
        (("dance",), "HaienvFault"),
        ((), "HaienvFault"),
    ],
)
def test_a_fault_is_an_answer_too(
    root: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], kind: str
) -> None:
    answer = answered(capsys, root, *words)
    assert answer["kind"] == kind
    assert answer["fault"]
