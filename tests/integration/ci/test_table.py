"""The table of .ci/run, and the hosted workflow: what they name is there."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from ci import machine
from ci.parts import Part
from ci.table import AGAIN, table

ROOT = Path(__file__).parents[3]
TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
PARTS = {part.name: part for part in table(Path("settings"), Path("frameworks"))}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def behind(part: Part) -> set[str]:
    """All parts that have ended when one begins."""
    return set(part.after).union(*(behind(PARTS[name]) for name in part.after))


def test_each_part_stands_behind_those_that_it_comes_after() -> None:
    names = list(PARTS)
    assert [
        (name, other) for name in names for other in PARTS[name].after if other not in names[: names.index(name)]
    ] == []


def test_what_is_seen_at_once_comes_one_after_the_other() -> None:
    fronts = [part for part in PARTS.values() if not part.beside]
    assert [part.name for part in fronts] == ["install", "check", "e2e", "upgrade", "frameworks", "test-parts"]
    assert all(one.name in behind(next_) for one, next_ in pairwise(fronts))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("programs", "kubernetes-up"),
        ("install", "images"),
        ("kubernetes-up", "images"),
        ("images", "kubernetes"),
        ("kubernetes", "chaos"),
        ("compile", "e2e"),
        ("frameworks-install", "frameworks"),
    ],
)
def test_what_waits_for_what(earlier: str, later: str) -> None:
    assert earlier in behind(PARTS[later])


def test_a_cluster_is_brought_up_while_things_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for kubectl, waits in (("/bin/kubectl", False), (None, True)):
        monkeypatch.setattr("shutil.which", lambda name, found=kubectl: found)
        up = {part.name: part for part in table(Path("settings"), Path("frameworks"))}["kubernetes-up"]
        assert ("install" in up.after) is waits


@pytest.mark.parametrize("part", PARTS.values(), ids=lambda part: part.name)
def test_a_part_names_targets_and_things_that_there_are(part: Part) -> None:
    assert set(part.needs) | set(part.uses) <= set(machine.THINGS)
    words = list(part.command)
    make = words[1:] if words[0] == "make" else words[len(AGAIN) :] if tuple(words[: len(AGAIN)]) == AGAIN else []
    assert {word for word in make if "=" not in word and not word.startswith(".")} <= TARGETS


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
class TestWorkflows:
    def steps(self, file: Path) -> list[dict[str, Any]]:
        jobs = yaml.safe_load(file.read_text())["jobs"].values()
        return [step for job in jobs for step in job["steps"]]

    def test_targets_are_those_of_the_makefile(self, file: Path) -> None:
        asked = {word for step in self.steps(file) for word in re.findall(r"\bmake ([a-z0-9-]+)", step.get("run", ""))}
        assert {"check", "test-fast"} <= asked <= TARGETS

    def test_the_python_is_the_one_that_the_project_begins_with(self, file: Path) -> None:
        least = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
        pythons = {
            step["with"]["python-version"] for step in self.steps(file) if "python-version" in step.get("with", {})
        }
        assert {f">={python}" for python in pythons} == {least}

    def test_actions_are_pinned_by_commit(self, file: Path) -> None:
        used = [step["uses"] for step in self.steps(file) if "uses" in step]
        assert used
        assert [name for name in used if not re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40}", name)] == []

    def test_it_may_only_read(self, file: Path) -> None:
        assert yaml.safe_load(file.read_text())["permissions"] == {"contents": "read"}


def test_there_is_a_workflow() -> None:
    assert WORKFLOWS
