"""A script that enters an environment by its first lines: when its Python is replaced, and when that is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from haienv.shared.errors import Missing, Wrong
from haienv.store.layout import EnvFolder
from haienv.using import entering
from haienv.using.entering import enter
from unit.haienv.envs_kit import env_of, publish

MARK = "HAIENV_ENTERED"


class Executed(Exception):
    """The process was replaced."""


class Script:
    """A script of ann: `python train.py --epochs 2`, and the program that replaces it."""

    def __init__(self, env: EnvFolder, monkeypatch: pytest.MonkeyPatch) -> None:
        self.env = env
        self.environ = {"HAIENV_ROOT": str(env.root), "HAIENV_USER": "ann", "HAIENV_GROUPS": "", "PATH": "/bin"}
        self.program, self.words, self.variables = "", [""], {"": ""}
        monkeypatch.setattr(entering.os, "execve", self.execve)
        # As in a Python that has imported nothing yet.
        monkeypatch.setattr(entering, "_imported_packages", list)

    def execve(self, program: str, words: list[str], environ: dict[str, str]) -> None:
        self.program, self.words, self.variables = program, words, environ
        raise Executed

    def enter(self, name: str | None, owner: str | None = None) -> None:
        argv = ["/usr/bin/python", "train.py", "--epochs", "2"]
        enter(name, owner, already=MARK, argv=argv, environ=self.environ)


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    env = env_of(tmp_path)
    for number in ("1", "2"):
        publish(env, variables={"OMP_NUM_THREADS": number})
    return Script(env, monkeypatch)


def test_the_script_starts_again_with_the_python_of_the_environment(script: Script) -> None:
    script.environ["PYTHONPATH"] = "/other"
    with pytest.raises(Executed):
        script.enter("vision")
    current = script.env.generation(2)
    assert script.program == str(current.python)
    assert script.words == [str(current.python), "train.py", "--epochs", "2"]
    assert script.variables["PATH"] == f"{current.prefix}/bin:/bin"
    assert script.variables["OMP_NUM_THREADS"] == "2"
    assert script.variables[MARK] == str(current.prefix)
    assert "PYTHONPATH" not in script.variables, "it is for another Python"


@pytest.mark.parametrize(
    ("name", "owner", "environ", "number"),
    [
        ("vision@1", None, {}, 1),
        ("users/ann/vision", None, {"HAIENV_USER": "bob"}, 2),
        ("vision", "ann", {"HAIENV_USER": "bob"}, 2),
        (None, None, {"HF_ENV_NAME": "vision"}, 2),
        (None, None, {"HF_ENV_NAME": "vision", "HF_ENV_OWNER": "ann", "HAIENV_USER": "bob"}, 2),
        (None, "ann", {"HF_ENV_NAME": "vision", "HF_ENV_OWNER": "bob", "HAIENV_USER": "bob"}, 2),
    ],
)
def test_which_environment_is_meant(
    script: Script, name: str | None, owner: str | None, environ: dict[str, str], number: int
) -> None:
    script.environ.update(environ)
    with pytest.raises(Executed):
        script.enter(name, owner)
    assert script.program == str(script.env.generation(number).python)


@pytest.mark.parametrize("environ", [{}, {"HF_ENV_NAME": ""}])
def test_without_a_name_it_says_how_to_give_one(script: Script, environ: dict[str, str]) -> None:
    script.environ.update(environ)
    with pytest.raises(Wrong, match=r"none is named; write haienv.set_env\('vision'\), or set HF_ENV_NAME"):
        script.enter(None)


def test_one_that_is_not_there_is_missing(script: Script) -> None:
    with pytest.raises(Missing, match="there is no 'text'"):
        script.enter("text")


def test_in_the_environment_already_nothing_happens(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entering.sys, "prefix", str(script.env.folder / "current" / "prefix"))
    script.enter("vision")
    with pytest.raises(Executed):
        script.enter("vision@1")


def test_a_python_that_is_not_the_environments_is_not_started_without_end(script: Script) -> None:
    script.environ[MARK] = str(script.env.generation(2).prefix)
    with pytest.raises(Wrong, match=f"was entered, and its Python still uses {sys.prefix}: is `python` an alias"):
        script.enter("vision")
    with pytest.raises(Executed):
        script.enter("vision@1")


def test_packages_that_are_imported_already_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = env_of(tmp_path)
    publish(env)
    environ = {"HAIENV_ROOT": str(tmp_path), "HAIENV_USER": "ann", "HAIENV_GROUPS": ""}
    for name in list(sys.modules):
        if "site-packages" in (getattr(sys.modules[name], "__file__", None) or ""):
            monkeypatch.delitem(sys.modules, name)
    for name in ("numpy", "numpy.linalg", "torch", "haienv_more", "sitecustomize", "a", "b", "c"):
        module = ModuleType(name)
        place = "site-packages" if len(name) > 1 else "own"
        module.__file__ = f"/usr/lib/{place}/{name}.py"
        monkeypatch.setitem(sys.modules, name, module)
    with pytest.raises(Wrong, match=r"environment: numpy, torch of another Python is imported already; call"):
        enter("vision", None, already=MARK, argv=["python"], environ=environ)
