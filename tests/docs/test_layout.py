"""The folders of tests/unit are those of the packages, so that a module's tests are found where the module is."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from docs.kit import ROOT, files, name_of

#: The package of a folder of tests/unit; the other folders are rooms of the scheduler service.
PACKAGES = {
    "client": "client/hai_client",
    "ffrecord": "client/hfai/hai_ffrecord",
    "haienv": "haienv/haienv",
    "hfai": "client/hfai/hfai",
    "hub": "hub_config/hai_hub",
    "lab": "lab_extension/hai_lab",
    "slurm": "client/slurm/hai_slurm",
    "spawner": "spawner/hai_spawner",
}
SERVICE = "scheduler_service/hai_scheduler"
#: Tests of what the tests share, and of the tools.
NO_PACKAGE = ("kit", "tools")

UNIT = sorted({PurePath(name_of(file)).parent for file in files() if name_of(file).startswith("tests/unit/")})
ROOMS = sorted({folder.parts[2:4] for folder in UNIT if len(folder.parts) > 2 and folder.parts[2] not in NO_PACKAGE})


@pytest.mark.parametrize("room", ROOMS, ids="/".join)
def test_a_folder_of_unit_tests_is_a_folder_of_its_package(room: tuple[str, ...]) -> None:
    top, *below = room
    folder = ROOT.joinpath(PACKAGES[top], *below) if top in PACKAGES else ROOT.joinpath(SERVICE, *room)
    assert folder.is_dir(), f"tests/unit/{'/'.join(room)} tests {folder.relative_to(ROOT)}, which is not there"


def test_no_test_lies_in_no_room() -> None:
    loose = [name_of(file) for file in files() if name_of(file.parent) == "tests/unit" and file.name != "__init__.py"]
    assert loose == []
    shared = [name_of(file) for file in files() if name_of(file.parent) == "tests" and file.suffix == ".py"]
    assert shared == ["tests/conftest.py"], "what suites share lies in tests/kit"
