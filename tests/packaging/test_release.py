"""A release without images, built twice from this tree in other folders, time zones and hash seeds: the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from hai_hub.cluster.release_folder import checked
from release import building, making, number


def commit() -> str:
    """This tree as it is, changed files included."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=number.ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    return git("-c", "user.name=a", "-c", "user.email=a@example.org", "stash", "create") or git("rev-parse", "HEAD")


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    plan = building.Plan(commit(), 1_700_000_000, images=False)
    made = []
    for name, otherwise in (("one", {}), ("the other", {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "7", "LC_ALL": "C"})):
        place = tmp_path_factory.mktemp("release") / name
        building.tree(plan.commit, place / "tree")
        building.build(place / "tree", place / "files", plan, environ={**os.environ, **otherwise})
        made.append(place / "files")
    return made


def test_both_builds_have_the_same_bytes(builds: list[Path]) -> None:
    assert list(making.differences(*builds)) == []


def test_it_has_all_parts_of_the_version_and_no_other_file(builds: list[Path]) -> None:
    version = number.number()
    wheels = {
        f"{name}-{version}-py3-none-any.whl"
        for name in ("hai_client", "hai_env", "hai_hfai", "hai_lab", "hai_platform", "hai_slurm")
    }
    parts = {f"hai-{version}.tgz", "hai.pyz", "values.schema.json", "digests.json", "notes.md", "notes.zh-CN.md"}
    assert {path.name for path in builds[0].iterdir()} == wheels | parts | {"hai-python.cdx.json", "hai-panel.cdx.json"}
    for name in wheels:
        with zipfile.ZipFile(builds[0] / name) as wheel:
            (metadata,) = [one for one in wheel.namelist() if one.endswith(".dist-info/METADATA")]
            assert message_from_bytes(wheel.read(metadata))["Version"] == version
            # The time of the commit that is released, and no other.
            assert {entry.date_time[:3] for entry in wheel.infolist()} == {(2023, 11, 14)}
    assert json.loads((builds[0] / "digests.json").read_text())["version"] == version


def test_it_is_a_folder_that_hai_cluster_load_takes(builds: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "release"
    folder.mkdir()
    for path in builds[1].iterdir():
        (folder / path.name).hardlink_to(path)
    making.write_sums(folder)
    assert checked(folder, unsigned=True).version == number.number()


def test_the_chart_is_its_folder(builds: list[Path]) -> None:
    folder = number.ROOT / "helm" / "hai"
    with tarfile.open(builds[0] / f"hai-{number.number()}.tgz") as chart:
        files = {entry.name: chart.extractfile(entry) for entry in chart if entry.isfile()}
        found = {name.removeprefix("hai/"): file.read() for name, file in files.items() if file is not None}
    listed = subprocess.run(["git", "ls-files"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert found == {name: (folder / name).read_bytes() for name in listed.splitlines()}
