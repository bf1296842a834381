"""pylock.toml: versions with hashes, markers on extras, and what is refused."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest

from haienv.shared.errors import Wrong
from haienv.sources.pylock import PYPI
from haienv.sources.source import Source
from unit.haienv.sources.files_kit import H1, H2, read, write

PYLOCK = f"""\
lock-version = "1.0"
requires-python = ">=3.9"
extras = ["gpu"]
default-groups = ["default"]
[[packages]]
name = "six"
version = "1.17.0"
index = "https://{PYPI}/simple"
wheels = [{{ url = "https://f/six.whl", hashes = {{ sha256 = "{"1" * 64}" }} }}]
sdist = {{ url = "https://f/six.tar.gz", hashes = {{ sha256 = "{"2" * 64}" }} }}
[[packages]]
name = "torch"
version = "2.9.0+cu128"
marker = "'gpu' in extras and sys_platform == 'linux'"
index = "https://download.pytorch.org/whl/cu128"
wheels = [{{ url = "https://f/torch.whl", hashes = {{ sha256 = "{"1" * 64}" }} }}]
[[packages]]
name = "idna"
marker = "'dev' not in dependency_groups"
archive = {{ url = "https://f/idna.whl", hashes = {{ sha256 = "{"2" * 64}" }} }}
"""


def test_a_pylock_has_versions_with_hashes_and_its_extras_are_decided(tmp_path: Path) -> None:
    path = write(tmp_path, "pylock.toml", PYLOCK)
    never, always = "python_version < '0'", "python_version >= '0'"
    assert read(path) == Source(
        requirements=(
            f"six==1.17.0 {H1} {H2}",
            f"torch==2.9.0+cu128 ; {never} and sys_platform == 'linux' {H1}",
            f"idna @ https://f/idna.whl ; {always} {H2}",
        ),
        python=">=3.9",
        indexes=("https://download.pytorch.org/whl/cu128",),
    )
    assert f"; {always} and sys_platform == 'linux'" in read(path, "gpu").requirements[1]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('lock-version = "1.0"', 'lock-version = "2.0"', "line 1: lock-version: '2.0' is not 1.0"),
        ('version = "1.17.0"\n', "", "line 6: packages: six: packages.version: is missing"),
        ('sha256 = "' + "2" * 64, 'md5 = "' + "2" * 64, "line 18: packages: idna: has no file with a sha256"),
        ("wheels = [{ url = \"https://f/torch", 'directory = { path = "." }\nwheels = [{ url = "https://f/torch',
         "line 12: packages: torch: comes from a folder"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_pylock_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in PYLOCK
    with pytest.raises(Wrong, match=f"pylock.toml, {says}"):
        read(write(tmp_path, "pylock.toml", PYLOCK.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('extras = ["gpu"]', "extras = 1", "extras: is not a list"),
        ('extras = ["gpu"]', "extras = [1]", r"extras\[0\]: is not a text"),
        ('default-groups = ["default"]', "default-groups = true", "default-groups: is not a list"),
        ('requires-python = ">=3.9"', "requires-python = 3.9", "requires-python: is not a text"),
        ('name = "idna"', "name = 1", r"packages\[2\]\.name: is not a text"),
        ("archive = { url", "archive = [1] # {", r"packages\[2\]\.archive: is not a table"),
        ('{ sha256 = "' + "2" * 64 + '" }', "1", r"packages\[0\]\.sdist\.hashes: is not a table"),
    ],
)
def test_a_value_of_another_type_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in PYLOCK
    with pytest.raises(Wrong, match=f"pylock.toml: {says}; write the file again"):
        read(write(tmp_path, "pylock.toml", PYLOCK.replace(old, new)))


@pytest.mark.parametrize("packages", ["1", "[]", "[1]", "'x'"])
def test_packages_are_a_list_of_tables(tmp_path: Path, packages: str) -> None:
    with pytest.raises(Wrong, match=r"packages.*: is (empty|not a table)"):
        read(write(tmp_path, "pylock.toml", f'lock-version = "1.0"\npackages = {packages}\n'))


@pytest.mark.parametrize(
    "environments",
    [
        ["sys_platform == 'win32'"],
        ["sys_platform == 'darwin' and platform_machine == 'arm64'", "sys_platform == 'win32'"],
        ["platform_system == 'Windows' or os_name == 'nt'"],
        ["sys_platform == 'linux' and platform_machine == 's390x'"],
    ],
    ids=str,
)
def test_a_pylock_of_another_platform_is_refused_and_not_read_as_one_without_packages(
    tmp_path: Path, environments: list[str]
) -> None:
    text = f"environments = {json.dumps(environments)}\n{PYLOCK}"
    with pytest.raises(Wrong, match=r"pylock.toml, line 1: environments: it is for .*, and this machine is linux on "):
        read(write(tmp_path, "pylock.toml", text))


@pytest.mark.parametrize(
    "environments",
    [
        [],
        ["sys_platform == 'win32'", f"sys_platform == 'linux' and platform_machine == '{platform.machine()}'"],
        ["sys_platform == 'win32' or sys_platform == 'linux'"],
        ["python_version < '3.15'"],
        ["sys_platform != 'darwin'"],
    ],
    ids=str,
)
def test_a_pylock_that_may_be_for_this_platform_is_read(tmp_path: Path, environments: list[str]) -> None:
    text = f"environments = {json.dumps(environments)}\n{PYLOCK}"
    assert read(write(tmp_path, "pylock.toml", text)) == read(write(tmp_path, "pylock.toml", PYLOCK))
