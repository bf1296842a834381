"""What the wheels hold, and what they ask for."""

from __future__ import annotations

import re
import tomllib
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "hai_hub": "hub_config",
    "hai_scheduler": "scheduler_service",
    "hai_spawner": "spawner",
}
SHIMS = sorted(path.name for path in (ROOT / "client/slurm/hai_slurm/shims").iterdir())


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    return metadata_of(wheel)


def metadata_of(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def needed(metadata: Message) -> list[str]:
    """What it asks for without any extra."""
    asked = metadata.get_all("Requires-Dist", [])
    assert asked, "the extras have some"
    return [line for line in asked if "extra ==" not in line]


def test_the_platform_needs_the_client_of_its_own_version_and_nothing_else(metadata: Message) -> None:
    version = metadata["Version"]
    assert needed(metadata) == [f"hai-client=={version}", f"hai-env=={version}", f"hai-slurm=={version}"]


def test_the_client_needs_nothing_and_takes_every_python_since_3_8(client_wheel: Path, metadata: Message) -> None:
    found = metadata_of(client_wheel)
    assert needed(found) == []
    assert (found["Requires-Python"], found["License-Expression"]) == (">=3.8", "Apache-2.0")
    assert (found["Version"], found.get_all("Provides-Extra")) == (metadata["Version"], ["notebook"])


def test_the_client_holds_its_package_whole_and_nothing_else(client_wheel: Path, names: list[str]) -> None:
    with ZipFile(client_wheel) as archive:
        inside = archive.namelist()
    folder = ROOT / "client"
    there = {str(path.relative_to(folder)) for path in (folder / "hai_client").rglob("*") if path.is_file()}
    assert {name for name in inside if ".dist-info/" not in name} == {
        name for name in there if "__pycache__" not in name
    }
    assert not [name for name in names if name.startswith("hai_client")]


def test_one_word_brings_what_make_install_brings_for_one_machine() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (up,) = extras["up"]
    found = re.search(r"^RUNTIME_EXTRAS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found is not None
    for_clusters = {"kubernetes", "kubespawner", "logins", "postgres", "redis"}
    # The panel is built from its folder there.
    assert {*asked_extras(up), *for_clusters} == {*found[1].split(), "lab"}


def test_each_part_of_the_platform_asks_for_the_others_of_its_own_version(metadata: Message) -> None:
    asked = [line for line in metadata.get_all("Requires-Dist", []) if line.startswith("hai-")]
    others = [line.partition(";")[0].strip() for line in asked if not line.startswith("hai-platform")]
    assert {re.split(r"[\[=]", line)[0] for line in others} == {"hai-client", "hai-env", "hai-lab", "hai-slurm"}
    assert [line for line in others if not line.endswith(f"=={metadata['Version']}")] == []


def asked_extras(requirement: str) -> list[str]:
    return requirement.partition("[")[2].partition("]")[0].split(",")


def test_every_extra_of_the_project_is_there(metadata: Message) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(metadata.get_all("Provides-Extra", [])) == set(project["optional-dependencies"])
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"


def test_it_holds_the_three_packages_whole_and_nothing_else(names: list[str]) -> None:
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    for package, folder in PACKAGES.items():
        modules = (ROOT / folder / package).rglob("*.py")
        assert {str(path.relative_to(ROOT / folder)) for path in modules} <= set(names)


@pytest.mark.parametrize(
    "name",
    [
        *(f"{package}/py.typed" for package in PACKAGES),
        "hai_hub/jupyterhub_config.py",
        "hai_scheduler/store/migrations/env.py",
        "hai_scheduler/store/migrations/versions/r0026_first_state.py",
        "hai_spawner/jupyter/labconfig/default_setting_overrides.json",
    ],
)
def test_it_holds_what_is_looked_up_at_run_time(names: list[str], name: str) -> None:
    assert name in names


@pytest.mark.parametrize("name", SHIMS)
def test_slurms_commands_can_be_executed_and_are_one_and_the_same(slurm_wheel: Path, name: str) -> None:
    with ZipFile(slurm_wheel) as archive:
        mode = archive.getinfo(f"hai_slurm/shims/{name}").external_attr >> 16
        assert archive.read(f"hai_slurm/shims/{name}") == archive.read("hai_slurm/shims/srun")
    assert mode & 0o111 == 0o111


def test_so_can_what_starts_the_processes_of_a_rank(client_wheel: Path) -> None:
    with ZipFile(client_wheel) as archive:
        found = [entry for entry in archive.infolist() if "/shims/" in entry.filename]
    assert sorted(Path(entry.filename).name for entry in found) == ["hai-launch", "hai-provide"]
    assert [entry.filename for entry in found if not (entry.external_attr >> 16) & 0o111] == []


def test_slurms_commands_are_a_wheel_of_the_clients_version(slurm_wheel: Path, metadata: Message) -> None:
    found = metadata_of(slurm_wheel)
    assert needed(found) == [f"hai-client=={metadata['Version']}"]
    assert (found["Version"], found["Requires-Python"]) == (metadata["Version"], ">=3.8")
    # No script of the wheel takes the place of a real Slurm's.
    assert declared(slurm_wheel) == "[hai.commands]\nslurm = hai_slurm.env:command\n"


def test_it_holds_no_tests_no_caches_and_no_state(names: list[str]) -> None:
    parts = {part for name in names for part in name.split("/")}
    assert not parts & {"tests", "conftest.py", "__pycache__", "node_modules"}
    assert [name for name in names if name.rpartition("/")[2].startswith("test_")] == []
    kinds = {
        "",
        ".conf",
        ".html",
        ".json",
        ".mako",
        ".py",
        ".sh",
        ".sql",
        ".svg",
        ".toml",
        ".tpl",
        ".txt",
        ".typed",
        ".yaml",
    }
    assert {Path(name).suffix for name in names} <= {"", *kinds}
    assert "hai_hub/chart/Chart.yaml" in names


def declared(wheel: Path) -> str:
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/entry_points.txt")]
        return archive.read(name).decode()


def test_the_command_and_its_plugins_are_declared(wheel: Path, client_wheel: Path) -> None:
    assert declared(client_wheel) == "[console_scripts]\nhai = hai_client.cli:main\n"
    for line in (
        "up = hai_hub.up.command:command",
        "hai-embedded = hai_spawner.proxy.embedded:EmbeddedProxy",
    ):
        assert line in declared(wheel)
    assert "hai_client" not in declared(wheel)
