"""The verbs that build: what they ask the builder for, what they refuse before it, and what they print after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from haienv.cli import building
from haienv.shared.errors import Missing
from haienv.store.layout import EnvFolder, Generation
from haienv.store.names import Owner
from haienv.store.spec import Spec
from unit.haienv.cli.conftest import Haienv
from unit.haienv.envs_kit import env_of, publish

BASE = Owner("base")


class Builder:
    """Builds nothing but the folder of a generation whose packages are what was asked for; `specs` has what it was."""

    specs: list[Spec]
    bases: list[Generation | None]
    waits: list[float | None]
    stays = False

    def __init__(self, *, environ: object, show: object, wait_s: float | None) -> None:
        self.waits.append(wait_s)

    def build(
        self, env: EnvFolder, change: Callable[[Spec | None], Spec], *, base: Generation | None, what: str
    ) -> Generation:
        from haienv.store import spec as specs

        spec = change(specs.read(env.spec) if env.spec.exists() else None)
        self.specs.append(spec)
        self.bases.append(base)
        current = env.current()
        if self.stays and current is not None:
            return current
        pins = [one if "==" in one else f"{one}==1.0" for one in spec.requirements]
        return publish(env, *pins, spec=spec, interpreter=spec.python or "/usr/bin/python3")


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> type[Builder]:
    Builder.specs, Builder.bases, Builder.waits, Builder.stays = [], [], [], False
    monkeypatch.setattr(building, "Builder", Builder)
    return Builder


def test_create_asks_for_all_that_it_was_given(haienv: Haienv, builder: type[Builder], tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("six<2\n-i https://b.example/simple\n")
    found = haienv(
        "create", "vision", "timm==1.0.20", "-r", str(tmp_path / "more.txt"), "-p", "3.12", "--variable", "A=b=c",
        "--index", "https://a.example/simple", "--no-kernel", "--description", "for pictures",
    )  # fmt: skip
    assert found.code == 0
    assert builder.specs == [
        Spec(
            python="3.12", requirements=("timm==1.0.20", "six<2"), variables={"A": "b=c"}, kernel=False,
            indexes=("https://a.example/simple", "https://b.example/simple"), description="for pictures",
        )
    ]  # fmt: skip
    assert found.out == "users/ann/vision@1: 3 files, 1.5 kB, Python 3.11.7\n"


@pytest.mark.parametrize(("words", "waits"), [([], None), (["--no-wait"], 0.0)])
def test_another_build_is_waited_for_unless_that_is_not_wanted(
    haienv: Haienv, builder: type[Builder], words: list[str], waits: float | None
) -> None:
    haienv("create", "vision", *words)
    assert builder.waits == [waits]


def test_what_extends_another_one_is_built_on_its_generation(
    haienv: Haienv, builder: type[Builder], root: Path
) -> None:
    base = publish(env_of(root, "torch", BASE), "torch==2.9.0")
    haienv("create", "vision", "--extend", "torch", "timm")
    [spec] = builder.specs
    assert (spec.extends, spec.requirements) == ("base/torch", ("timm",))
    assert builder.bases == [base]
    newer = publish(env_of(root, "torch", BASE), "torch==2.10.0")
    haienv("install", "vision", "six")
    assert builder.bases[-1] == newer, "a later build extends what is current then"


def test_install_replaces_the_requirement_for_the_same_package(haienv: Haienv, builder: type[Builder]) -> None:
    haienv("create", "vision", "numpy==2.1", "six")
    found = haienv("install", "vision", "NumPy==2.2", "timm")
    assert builder.specs[-1].requirements == ("NumPy==2.2", "six", "timm")
    assert [line.strip() for line in found.out.splitlines()[1:]] == ["~ numpy 2.1 -> 2.2", "+ timm 1.0"]


def test_uninstall_and_rebuild_change_what_was_asked_for_or_nothing(haienv: Haienv, builder: type[Builder]) -> None:
    haienv("create", "vision", "numpy", "six")
    haienv("uninstall", "vision", "six")
    haienv("rebuild", "vision")
    assert [spec.requirements for spec in builder.specs] == [("numpy", "six"), ("numpy",), ("numpy",)]
    found = haienv("uninstall", "vision", "torch")
    assert (found.code, "'torch' was not asked for; these were: numpy" in found.err) == (2, True)


def test_where_nothing_has_changed_it_says_so(haienv: Haienv, builder: type[Builder]) -> None:
    haienv("create", "vision", "six")
    builder.stays = True
    assert haienv("rebuild", "vision").out == "users/ann/vision@1 stays: nothing has changed\n"
    data = haienv("rebuild", "vision", "--json").data
    assert (data["generation"], data["changed"], data["changes"]) == (1, False, [])


def test_json_has_what_was_made(haienv: Haienv, builder: type[Builder], root: Path) -> None:
    data: dict[str, Any] = haienv("create", "vision", "six", "--json").data
    assert (data["environment"], data["generation"], data["changed"]) == ("users/ann/vision", 1, True)
    assert data["prefix"] == str(env_of(root).generation(1).prefix)
    assert data["changes"] == [{"package": "six", "before": None, "after": "1.0"}]


def test_a_clone_has_the_exact_packages_and_extends_nothing(haienv: Haienv, builder: type[Builder], root: Path) -> None:
    source = env_of(root, "vision", Owner("groups", "cv"))
    publish(source, "six==1.16.0", spec=Spec(requirements=("six",), extends="base/torch", variables={"A": "1"}))
    publish(source, "six==1.17.0", spec=Spec(requirements=("six",), constraints=("six<2",)))
    assert haienv("clone", "groups/cv/vision@1", "mine").code == 0
    [spec] = builder.specs
    assert spec.requirements == ("six==1.16.0",)
    assert (spec.extends, spec.constraints, spec.python) == (None, (), "/usr/bin/python3")


def test_an_extension_in_a_circle_is_refused(haienv: Haienv, builder: type[Builder], root: Path) -> None:
    publish(env_of(root, "a"), spec=Spec(extends="users/ann/b"))
    publish(env_of(root, "b"), spec=Spec(extends="users/ann/c"))
    publish(env_of(root, "c"))
    found = haienv("create", "c", "--extend", "a")
    assert found.code == 2
    assert "users/ann/c extends users/ann/a extends users/ann/b extends users/ann/c: a cycle" in found.err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["create", "vision"], 2, "users/ann/vision exists; `haienv install` adds packages to it"),
        (["clone", "vision", "vision"], 2, "users/ann/vision exists; choose another name"),
        (["create", "new", "--extend", "vision", "--no-extend"], 2, "--extend and --no-extend exclude each other"),
        (["create", "new", "--extend", ""], 2, "--extend: '' is empty: give a value, or leave the option out"),
        (["create", "new", "-p", " "], 2, "--python/--py: ' ' is empty"),
        (["create", "new", "-r", ""], 2, "--from: '' is empty"),
        (["create", "new", "-u", ""], 2, "-u/--user: '' is empty"),
        (["list", "-u", ""], 2, "-u/--user: '' is empty"),
        (["create", "new", "--extend", "nothing"], 1, "there is no 'nothing'"),
        (["create", "new", "--extra-search-dir", "/x"], 2, "--extra-search-dir: '/x' would be a part"),
        (["create", "new", "--extra-search-bin-dir", "/x"], 2, "--extra-search-bin-dir: '/x' would be a part"),
        (["create", "new", "--variable", "1A=1"], 2, "1A"),
        (["create", "new", "--index", "ftp://x"], 2, "index: "),
        (["create", "new", "=1"], 2, "requirement: '=1'"),
        (["create", "new", "-r", "missing.txt"], 2, "missing.txt: there is no such file"),
        (["create", "vision@3"], 2, "names a generation, and generations never change"),
        (["install", "vision"], 2, "requirement: none is given; write for example haienv install vision timm==1.0.20"),
        (["install", "nothing", "six"], 1, "there is no users/ann/nothing; `haienv create nothing` makes it"),
        (["rebuild", "nothing"], 1, "there is no users/ann/nothing"),
        (["clone", "nothing", "new"], 1, "there is no 'nothing'"),
    ],
)
def test_what_is_refused_changes_nothing(
    haienv: Haienv, builder: type[Builder], root: Path, words: list[str], code: int, says: str
) -> None:
    publish(env_of(root), "six==1.17.0")
    found = haienv(*words)
    assert found.code == code
    assert says in found.err
    assert [one.number for one in env_of(root).generations()] == [1]
    assert not env_of(root, "new").folder.exists()


def test_packages_of_conda_cannot_be_added_to_an_environment_without_any(
    haienv: Haienv, builder: type[Builder], root: Path, tmp_path: Path
) -> None:
    publish(env_of(root), "six==1.17.0")
    (tmp_path / "environment.yml").write_text("dependencies: [numpy]\n")
    found = haienv("install", "vision", "-r", str(tmp_path / "environment.yml"))
    assert found.code == 2
    assert "the environment has no packages of conda, so none can be added" in found.err


def test_an_environment_that_is_removed_while_it_is_waited_for_is_missing(
    haienv: Haienv, builder: type[Builder], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = env_of(root)
    publish(env)
    monkeypatch.setattr(building, "base_of_spec", lambda one: one.spec.unlink())
    assert "users/ann/vision is gone" in haienv("rebuild", "vision").err


def test_an_environment_that_is_gone_extends_nothing(root: Path) -> None:
    with pytest.raises(Missing, match="there is no users/ann/vision"):
        building.base_of_spec(env_of(root))
