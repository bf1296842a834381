"""Which Python an environment is made with, where the builder keeps what further builds use, and who can run it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from haienv.building import flavours
from haienv.building.flavours import Workshop, memory_of, of_base, pythons_of
from haienv.building.interpreters import Interpreter
from haienv.building.remembered import Memory
from haienv.store.layout import EnvFolder
from haienv.store.names import Owner
from haienv.store.spec import Spec
from unit.haienv.envs_kit import a_manifest, env_of, publish

BASE, CV = Owner("base"), Owner("groups", "cv")


def add_python(root: Path, name: str, *, runs: bool = True) -> str:
    program = root / "base" / flavours.PYTHONS / name / "bin" / "python3"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755 if runs else 0o644)
    return str(program)


@pytest.fixture
def pythons(tmp_path: Path) -> Path:
    """The Pythons of the base environments of a site; returns the root."""
    for version in ("3.11.9", "3.12.2", "3.12.10"):
        add_python(tmp_path, f"cpython-{version}-linux-x86_64-gnu")
    add_python(tmp_path, "cpython-3.13.1-linux-x86_64-gnu", runs=False)
    add_python(tmp_path, "cpython-3.14.0+freethreaded-linux-x86_64-gnu")
    add_python(tmp_path, "cpython-3.15.0-macos-aarch64-none")
    folder = tmp_path / "base" / flavours.PYTHONS
    (folder / "cpython-3.12.99-linux-x86_64-gnu").symlink_to(folder / "cpython-3.12.2-linux-x86_64-gnu")
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        # By number: 10 is newer than 2. A link is a name that may change, and no version.
        ("3.12", "3.12.10"),
        ("3.12.2", "3.12.2"),
        ("3.11", "3.11.9"),
        ("3.1", None),
        ("3.13", None),
        ("3.14", None),
        ("3.15", None),
        ("3.10", None),
        ("/usr/bin/python3", None),
        (">=3.11", None),
        ("3.12/../x", None),
    ],
)
def test_a_python_of_the_site_is_found_by_its_version(pythons: Path, wanted: str, found: str | None) -> None:
    folder = pythons / "base" / flavours.PYTHONS
    expected = None if found is None else str(folder / f"cpython-{found}-linux-x86_64-gnu" / "bin" / "python3")
    assert of_base(env_of(pythons), wanted) == expected


def test_a_site_without_pythons_has_none(tmp_path: Path) -> None:
    assert of_base(env_of(tmp_path), "3.12") is None


@pytest.mark.parametrize(("owner", "place"), [(Owner("users", "ann"), "users/ann"), (CV, "groups/cv"), (BASE, "base")])
def test_pythons_that_are_fetched_are_their_owners(tmp_path: Path, owner: Owner, place: str) -> None:
    assert pythons_of(env_of(tmp_path, owner=owner)) == tmp_path / place / flavours.PYTHONS


def test_what_further_builds_use_is_beside_uvs_cache() -> None:
    assert memory_of({"UV_CACHE_DIR": "/fast/uv"}) == Path("/fast/uv/haienv")


class FakeUv:
    """Notes what is shown; it is not run here."""

    def __init__(self) -> None:
        self.environ: dict[str, str] = {}
        self.shown: list[str] = []

    def show(self, text: str) -> None:
        self.shown.append(text)


class Built:
    """A workshop whose Python and whose resolution are stand-ins: what it asks them for is noted."""

    def __init__(self, env: EnvFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.env, self.uv = env, FakeUv()
        self.asked: dict[str, Any] = {}
        self.python = Interpreter(
            program=str(tmp_path / "python"), version="3.11.7", implementation="CPython", inside=False
        )
        monkeypatch.setattr(flavours.interpreters, "make", self._make)
        monkeypatch.setattr(flavours.interpreters, "for_others", lambda program: False)
        monkeypatch.setattr(flavours.resolving, "resolve", self._resolve)

    def _make(self, uv: object, generation: object, wanted: str | None, admitted: str | None) -> Interpreter:
        self.asked["python"] = wanted
        return self.python

    def _resolve(self, uv: object, python: Path, wanted: Any) -> str:
        self.asked["requirements"] = list(wanted.requirements)
        self.asked["constraints"] = list(wanted.constraints)
        return "six==1.17.0\n"

    def prepare(self, spec: Spec, **more: Any) -> str:
        generation = self.env.generation(9)
        generation.folder.mkdir(parents=True, exist_ok=True)
        given: dict[str, Any] = {"base": None, "before": None, "memory": Memory(self.env.folder / "memory"), **more}
        work = Workshop(
            env=self.env, generation=generation, spec=spec, uv=self.uv, site=flavours.site_of(self.env), **given  # type: ignore[arg-type]
        )  # fmt: skip
        text, python = work.prepare()
        assert python is self.python
        assert generation.lock.read_text() == text
        return text


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Built:
    return Built(env_of(tmp_path / "root"), monkeypatch, tmp_path)


@pytest.mark.parametrize(
    ("spec", "before", "python"),
    [
        (Spec(), None, None),
        (Spec(python="3.12"), None, "3.12"),
        (Spec(python="/usr/bin/python3.12"), "here", "/usr/bin/python3.12"),
        # A further package does not change the Python.
        (Spec(), "here", "here"),
        (Spec(requires_python=">=3.9"), "here", "here"),
        (Spec(requires_python=">=3.12"), "here", None),
        (Spec(), "gone", None),
    ],
)
def test_the_python_that_it_is_made_with(
    built: Built, tmp_path: Path, spec: Spec, before: str | None, python: str | None
) -> None:
    (tmp_path / "here").touch(mode=0o755)
    manifest = None if before is None else a_manifest(built.env, 1, interpreter=str(tmp_path / before))
    built.prepare(spec, before=manifest)
    assert built.asked["python"] == (str(tmp_path / "here") if python == "here" else python)


def test_a_version_that_the_site_has_is_the_sites_own_program(built: Built) -> None:
    program = add_python(built.env.root, "cpython-3.12.4-linux-x86_64-gnu")
    built.prepare(Spec(python="3.12"))
    assert built.asked["python"] == program


def test_what_extends_another_one_has_its_python_and_its_packages_at_their_versions(built: Built) -> None:
    base = publish(env_of(built.env.root, "torch", BASE), "torch==2.9.0", "numpy==2.1", interpreter="/opt/python3.11")
    built.prepare(Spec(requirements=("timm",), constraints=("six<2",), kernel=False), base=base)
    assert built.asked == {
        "python": "/opt/python3.11",
        "requirements": ["torch==2.9.0", "numpy==2.1", "timm"],
        "constraints": ["six<2"],
    }


@pytest.mark.parametrize(("kernel", "requirements"), [(True, ["six", flavours.KERNEL_PACKAGE]), (False, ["six"])])
def test_a_kernel_needs_its_package(built: Built, requirements: list[str], *, kernel: bool) -> None:
    assert built.prepare(Spec(requirements=("six",), kernel=kernel)) == "six==1.17.0\n"
    assert built.asked["requirements"] == requirements


def test_without_anything_to_install_nothing_is_resolved(built: Built) -> None:
    assert built.prepare(Spec(kernel=False)) == ""
    assert "requirements" not in built.asked


@pytest.mark.parametrize(("owner", "said"), [(Owner("users", "ann"), False), (CV, True), (BASE, True)])
def test_a_python_that_others_cannot_run_is_told_where_others_are_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Owner, *, said: bool
) -> None:
    built = Built(env_of(tmp_path / "root", owner=owner), monkeypatch, tmp_path)
    built.prepare(Spec(kernel=False))
    assert any("is in a folder of one user alone" in line for line in built.uv.shown) is said
