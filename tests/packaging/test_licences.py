"""What is shipped has licences of the list, and their texts with it."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from email.message import Message
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
PARTS = [".", "client", "client/hfai", "client/slurm", "haienv", "lab_extension"]
#: The bundles of the panel and of the page, and packages of others that are certainly in them.
BUNDLES = {"labextension/static": {"react", "uplot"}, "page": {"@lumino/coreutils", "react", "react-dom", "uplot"}}


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"images_{name}", ROOT / "helm/images" / f"{name}.py")
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


licences, build = module("licences"), module("build")


@pytest.mark.parametrize("part", PARTS)
def test_each_wheel_is_told_to_hold_the_licence(part: str) -> None:
    project = tomllib.loads((ROOT / part / "pyproject.toml").read_text())["project"]
    assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE"])
    assert (ROOT / part / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("built", ["wheel", "client_wheel", "env_wheel", "slurm_wheel"])
def test_a_wheel_holds_the_licence(request: pytest.FixtureRequest, built: str) -> None:
    with ZipFile(request.getfixturevalue(built)) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
        assert archive.read(name) == (ROOT / "LICENSE").read_bytes()


def test_every_package_in_the_images_may_be_shipped() -> None:
    names = build.locked.closure([f"hai-platform[{build.HUB},{build.USER}]", "jupyterhub"])
    found = [(name, licences.of_metadata(distribution(name).metadata)) for name in names]
    assert licences.refused(found) == []
    # A reason for what is not there would be believed of what comes later.
    assert set(licences.EXCEPTIONS) <= {name for name, expression in found if not licences.is_allowed(expression)}


@pytest.mark.parametrize("bundle", BUNDLES)
def test_a_bundle_has_the_texts_of_those_whose_code_it_holds(bundle: str) -> None:
    file = ROOT / "lab_extension/hai_lab" / bundle / "third-party-licenses.json"
    if not (file.parent.parent / "package.json").exists() and not (file.parent / "index.html").exists():
        pytest.skip("the panel is not built")
    found = json.loads(file.read_text(encoding="utf-8"))["packages"]
    assert {one["name"] for one in found} >= BUNDLES[bundle]
    assert licences.refused((one["name"], one["licenseId"]) for one in found) == []
    assert [one["name"] for one in found if "Copyright" not in one["extractedText"]] == []


def metadata(**fields: str | list[str]) -> Message:
    made = Message()
    for name, texts in fields.items():
        for text in [texts] if isinstance(texts, str) else texts:
            made[name.replace("_", "-")] = text
    return made


OSI = "License :: OSI Approved :: "


@pytest.mark.parametrize(
    ("said", "expression", "allowed"),
    [
        (metadata(License_Expression="MIT"), "MIT", True),
        (metadata(License_Expression="MIT AND PSF-2.0"), "MIT AND PSF-2.0", True),
        (metadata(License_Expression="GPL-3.0-only OR MIT"), "GPL-3.0-only OR MIT", True),
        (metadata(License_Expression="MIT AND GPL-3.0-only"), "MIT AND GPL-3.0-only", False),
        (metadata(License_Expression="AGPL-3.0-or-later"), "AGPL-3.0-or-later", False),
        (metadata(Classifier=[f"{OSI}BSD License", "Topic :: Utilities"]), "BSD-3-Clause", True),
        (
            metadata(Classifier=[f"{OSI}MIT License", f"{OSI}GNU General Public License v3 (GPLv3)"]),
            "MIT AND GNU General Public License v3 (GPLv3)",
            False,
        ),
        (metadata(Classifier=["License :: OSI Approved"], License="MIT"), "MIT", True),
        (metadata(License="BSD 3-Clause License\n\nCopyright (c) 2017"), "BSD-3-Clause", True),
        (metadata(License="Free for academic use"), "Free for academic use", False),
        (metadata(License=""), "", False),
        (metadata(), "", False),
    ],
)
def test_what_a_package_says_of_its_licence_is_read(said: Message, expression: str, allowed: bool) -> None:
    assert licences.of_metadata(said) == expression
    assert licences.is_allowed(expression) == allowed


@pytest.mark.parametrize(
    ("said", "allowed"),
    [
        ({"license": "MIT"}, True),
        ({"license": "(MIT OR CC0-1.0)"}, True),
        ({"license": {"type": "ISC", "url": "https://example.org"}}, True),
        ({"license": "SEE LICENSE IN terms.txt"}, False),
        ({"license": "(MIT OR GPL-2.0) AND GPL-3.0"}, False),
        ({}, False),
    ],
)
def test_what_a_package_of_npm_says_is_read(said: dict[str, object], allowed: bool) -> None:
    assert licences.is_allowed(licences.of_npm(said)) == allowed


def test_an_image_with_a_licence_that_is_not_on_the_list_is_not_built(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    with ZipFile(tmp_path / "wheels/a_b-1-py3-none-any.whl", "w") as archive:
        archive.writestr("a_b-1.dist-info/METADATA", "Name: A_b\nLicense-Expression: GPL-3.0-only\n\n")
        archive.writestr("a_b/vendored/c-1.dist-info/METADATA", "Name: c\nLicense-Expression: MIT\n\n")
    for folder, text in {
        "chp": '{"name": "chp", "license": "BSD-3-Clause"}',
        "chp/lib": '{"type": "module"}',
        "chp/node_modules/@x/y": '{"name": "@x/y"}',
    }.items():
        (tmp_path / "node_modules" / folder).mkdir(parents=True)
        (tmp_path / "node_modules" / folder / "package.json").write_text(text)
    assert [line.partition(";")[0] for line in licences.refused(licences.packages(tmp_path))] == [
        "@x/y: its licence is not said",
        "a-b: its licence is GPL-3.0-only",
    ]
