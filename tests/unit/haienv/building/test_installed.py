"""What is installed in an environment, by its files alone; and what a generation must not use."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from haienv.building.installed import Package, make_relocatable, packages, refuse_outside, site_packages
from haienv.shared.errors import Damaged, Wrong


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An environment without packages."""
    made = tmp_path / "prefix"
    (made / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    (made / "bin").mkdir()
    return made


def add(prefix: Path, name: str, version: str = "1.0", *, requested: bool = False, origin: object = None) -> None:
    info = site_packages(prefix) / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if requested:
        (info / "REQUESTED").touch()
    if origin is not None:
        (info / "direct_url.json").write_text(origin if isinstance(origin, str) else json.dumps(origin))


def test_packages_are_found_by_their_normal_names(prefix: Path) -> None:
    add(prefix, "Foo.Bar_baz", "2.0", requested=True)
    add(prefix, "six", "1.17.0")
    assert packages(prefix) == {"foo-bar-baz": Package("2.0", True), "six": Package("1.17.0", False)}
    assert packages(prefix)["six"].requirement("six") == "six==1.17.0"


COMMIT = "a" * 40


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        ({"url": "https://h.example/six.whl"}, "six @ https://h.example/six.whl"),
        (
            {"url": "https://h.example/six", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"six @ git+https://h.example/six@{COMMIT}",
        ),
        # A name or a password in an address is told to nobody.
        ({"url": "https://ann:secret@h.example/six.whl"}, "six==1.0"),
        ({"url": "file:///home/ann/six"}, "six==1.0"),
        ({"url": 5}, "six==1.0"),
        ({}, "six==1.0"),
        ([], "six==1.0"),
        ("{", "six==1.0"),
        ("", "six==1.0"),
    ],
)
def test_a_package_that_is_from_no_index_says_where_it_is_from(prefix: Path, origin: object, requirement: str) -> None:
    add(prefix, "six", origin=origin)
    assert packages(prefix)["six"].requirement("six") == requirement


def test_a_folder_that_is_no_whole_package_is_left_out(prefix: Path) -> None:
    (site_packages(prefix) / "broken-1.0.dist-info").mkdir()
    (site_packages(prefix) / "broken-1.0.dist-info" / "METADATA").write_text("Version: 1.0\n")
    assert packages(prefix) == {}


@pytest.mark.parametrize("pythons", [[], ["python3.11", "python3.12"]])
def test_an_environment_has_one_folder_of_packages(tmp_path: Path, pythons: list[str]) -> None:
    for name in pythons:
        (tmp_path / "lib" / name / "site-packages").mkdir(parents=True)
    with pytest.raises(Damaged, match=f"has {len(pythons)} folders lib/python3"):
        site_packages(tmp_path)


def test_an_editable_install_is_refused_with_the_remedy(prefix: Path) -> None:
    add(prefix, "own", origin={"url": "file:///home/ann/own", "dir_info": {"editable": True}})
    with pytest.raises(Wrong, match=r"own is an editable install of file:///home/ann/own.*`haienv freeze vision`"):
        refuse_outside(prefix, "vision")


@pytest.mark.parametrize(
    "origin", [{"url": "file:///x", "dir_info": {}}, {"url": "file:///x", "dir_info": {"editable": False}}]
)
def test_a_copy_of_a_folder_is_fine(prefix: Path, origin: object) -> None:
    add(prefix, "own", origin=origin)
    refuse_outside(prefix, "vision")


@pytest.mark.parametrize("line", ["/home/ann/own", "../../../../other", "/", "sub\n/home/ann/own"])
@pytest.mark.parametrize("suffix", [".pth", ".egg-link"])
def test_a_file_that_names_a_folder_outside_is_refused(prefix: Path, line: str, suffix: str) -> None:
    (site_packages(prefix) / f"x{suffix}").write_text(line + "\n")
    with pytest.raises(Wrong, match=rf"x\{suffix} of the draft uses /.*remove x\{suffix}, then `haienv freeze vision`"):
        refuse_outside(prefix, "vision")


@pytest.mark.parametrize(
    "text",
    ["", "# /home/ann\n", "import os; os.getcwd()\n", "import\tos\n", ".\n", "sub/folder\n", "..\n", "../../..\n"],
)
def test_a_file_that_stays_inside_is_fine(prefix: Path, text: str) -> None:
    (site_packages(prefix) / "x.pth").write_text(text)
    refuse_outside(prefix, "vision")


def test_a_link_that_leads_outside_is_followed(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (site_packages(prefix) / "sub").symlink_to(tmp_path / "own")
    (site_packages(prefix) / "x.pth").write_text("sub\n")
    with pytest.raises(Wrong, match=f"uses {tmp_path}/own"):
        refuse_outside(prefix, "vision")


def scripts(prefix: Path) -> dict[str, str]:
    return {
        "own": f"#!{prefix}/bin/python\nprint('own')\n",
        "numbered": f"#!{prefix}/bin/python3.11 -I\nprint('numbered')\n",
        "long": f"#!/bin/sh\n'''exec' \"{prefix}/bin/python3\" \"$0\" \"$@\"\n' '''\nprint('long')\n",
        "other": "#!/usr/bin/python3\nprint('other')\n",
        "shell": f"#!/bin/sh\n# {prefix}/bin/python\necho shell\n",
        "similar": f"#!{prefix}x/bin/python\n",
    }


def test_scripts_start_the_python_beside_them_wherever_that_is(prefix: Path, tmp_path: Path) -> None:
    for name, text in scripts(prefix).items():
        (prefix / "bin" / name).write_text(text)
        (prefix / "bin" / name).chmod(0o755)
    (prefix / "bin" / "python").symlink_to(sys.executable)
    (prefix / "bin" / "data").write_bytes(b"\x7fELF\xff")
    (prefix / "bin" / "folder").mkdir()
    before = {name: (prefix / "bin" / name).read_bytes() for name in ("other", "shell", "similar", "data")}
    make_relocatable(prefix)
    assert {name: (prefix / "bin" / name).read_bytes() for name in before} == before
    moved = prefix.rename(tmp_path / "a folder")
    for name in ("own", "numbered", "long"):
        script = moved / "bin" / name
        assert stat.S_IMODE(script.stat().st_mode) == 0o755
        assert str(prefix) not in script.read_text()
        assert subprocess.run([script], capture_output=True, text=True, check=True).stdout == f"{name}\n"


def test_a_second_time_changes_nothing(prefix: Path) -> None:
    path = prefix / "bin" / "own"
    path.write_text(scripts(prefix)["own"])
    make_relocatable(prefix)
    once = path.read_bytes()
    make_relocatable(prefix)
    assert path.read_bytes() == once
