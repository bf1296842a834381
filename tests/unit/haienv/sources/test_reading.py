"""Files that environments are made from: their kinds, what they ask for, and messages that name file and line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from haienv.shared.errors import BuildFailed, Wrong
from haienv.sources.pylock import PYPI
from haienv.sources.reading import kind_of, read_all
from haienv.sources.source import Source

H1, H2 = f"--hash=sha256:{'1' * 64}", f"--hash=sha256:{'2' * 64}"


def no_uv(words: Sequence[str], *, doing: str) -> str:
    raise AssertionError("uv is not needed for this")


def read(path: Path, *extras: str) -> Source:
    return read_all([path], extras, no_uv)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("requirements.txt", "numpy\n", "requirements"),
        ("base.in", "numpy\n", "requirements"),
        ("requirements.lock", f"numpy==1 \\\n    {H1}\n", "requirements"),
        ("pyproject.toml", "[project]\n", "pyproject"),
        ("other.toml", "[project]\nname = 'x'\n", "pyproject"),
        ("pylock.toml", "", "pylock"),
        ("pylock.gpu.toml", "", "pylock"),
        ("lock.toml", 'lock-version = "1.0"\n', "pylock"),
        ("uv.lock", "version = 1\n", "uv.lock"),
        ("old-uv.lock", "version = 1\n[[package]]\nname = 'x'\n", "uv.lock"),
        ("environment.yml", "name: x\n", "environment.yml"),
        ("gpu.yaml", "dependencies:\n", "environment.yml"),
        ("env", "name: x\ndependencies:\n- numpy\n", "environment.yml"),
    ],
)
def test_name_and_content_tell_the_kind(name: str, text: str, kind: str) -> None:
    assert kind_of(Path(name), text) == kind


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("poetry.lock", "", "poetry export -o requirements.txt"),
        ("Pipfile", "", "pipenv requirements"),
        ("setup.py", "", "only executing it tells what it needs"),
        ("spec.txt", "@EXPLICIT\nhttps://x/y.conda\n", "conda env export"),
        ("x.toml", "a = 1\n", "neither \\[project\\] nor lock-version"),
    ],
)
def test_files_of_other_tools_are_named_with_the_way_to_one_that_is_read(name: str, text: str, says: str) -> None:
    with pytest.raises(Wrong, match=f"^{name}: .*{says}"):
        kind_of(Path(name), text)


def test_a_requirements_file_has_comments_long_lines_hashes_other_files_and_indexes(tmp_path: Path) -> None:
    write(tmp_path, "more.txt", "six\n")
    write(tmp_path, "limits.txt", "numpy<3\n")
    path = write(
        tmp_path, "requirements.txt",
        f"# all\ntimm==1.0 # why\nnumpy>=2 \\\n    {H1} \\\n    {H2}\n\ntorch @ https://x/y.whl#sha256=1\n"
        "-r more.txt\n--constraint=limits.txt\n--extra-index-url https://a.example/simple\n-i https://b.example/s\n"
        "--require-hashes\n",
    )  # fmt: skip
    assert read(path) == Source(
        requirements=("timm==1.0", f"numpy>=2 {H1} {H2}", "torch @ https://x/y.whl#sha256=1", "six"),
        constraints=("numpy<3",),
        indexes=("https://a.example/simple", "https://b.example/s"),
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("-e .", "editable.*build a wheel"),
        ("--editable ./x", "editable.*build a wheel"),
        ("-f /wheels", "UV_FIND_LINKS"),
        ("--pre", "admits pre-releases"),
        ("--no-binary :all:", "not supported here"),
        ("-r missing.txt", "missing.txt: there is no such file"),
        ("-r", "no file is named"),
        ("x @ git+https://a/b", "has no hash"),
        ("--extra-index-url https://ann:secret@a.example/simple", "password in it"),
        ("x @ https://ann:secret@a.example/x.whl", "password in it, which would be seen"),
        ("-i ftp://a", "is not an address"),
        ("=1.0", "is not one"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_with_a_remedy(tmp_path: Path, line: str, says: str) -> None:
    path = write(tmp_path, "requirements.txt", f"numpy\n\n{line}\n")
    with pytest.raises(Wrong, match=rf"(?s)^{path}, line 3: .*{says}") as caught:
        read(path)
    assert "secret" not in str(caught.value)


def test_the_line_of_a_file_that_another_one_names_is_the_one_that_is_said(tmp_path: Path) -> None:
    inner = write(tmp_path, "inner.txt", "six\n=bad\n")
    path = write(tmp_path, "requirements.txt", "-r inner.txt\n")
    with pytest.raises(Wrong, match=rf"^{inner}, line 2: "):
        read(path)
    write(tmp_path, "inner.txt", "-r requirements.txt\n")
    with pytest.raises(Wrong, match="a cycle"):
        read(path)


PROJECT = """\
[project]
name = "demo"
requires-python = ">=3.9,<3.13"
dependencies = ["numpy>=2", "six"]
[project.optional-dependencies]
gpu = ["torch"]
plots = ["matplotlib"]
all = ["demo[gpu,plots]", "Demo[all]"]
bad = ["=1"]
"""


def test_a_project_has_dependencies_extras_and_versions_of_python(tmp_path: Path) -> None:
    path = write(tmp_path, "pyproject.toml", PROJECT)
    assert read(path) == Source(requirements=("numpy>=2", "six"), python=">=3.9,<3.13")
    assert read(path, "gpu").requirements == ("numpy>=2", "six", "torch")
    assert read(path, "all").requirements == ("numpy>=2", "six", "torch", "matplotlib")


@pytest.mark.parametrize(
    ("text", "extras", "says"),
    [
        (PROJECT, ["none"], "has no extra 'none'; it has all, bad, gpu, plots"),
        (PROJECT, ["bad"], r"pyproject.toml, line 9: requirement: '=1'"),
        ('[project]\nname = "x"\ndynamic = ["dependencies"]\n', [], "line 3: project.dynamic: .*requirements.txt"),
        ("[tool.poetry]\n", [], "no table \\[project\\]"),
        ("[project\n", [], "is no TOML: .*line 1"),
        ('[project]\ndependencies = "numpy"\n', [], "line 2: dependencies: is not a list"),
        (
            '[project]\ndependencies = ["own"]\n[tool.uv.sources]\nown = { path = "../own" }\n', [],
            "line 4: tool.uv.sources: own comes from a path",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_project_is_named(tmp_path: Path, text: str, extras: list[str], says: str) -> None:
    with pytest.raises(Wrong, match=says):
        read(write(tmp_path, "pyproject.toml", text), *extras)


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


ENVIRONMENT = """\
name: vision
channels:
  - conda-forge
dependencies:
  - python=3.11
  - conda-forge::numpy >=2
  - pip
  - pip:
    - timm==1.0.20
    - -r more.txt
variables:
  OMP_NUM_THREADS: 4
"""


def test_an_environment_yml_has_packages_of_conda_and_of_pip(tmp_path: Path) -> None:
    write(tmp_path, "more.txt", "six\n")
    assert read(write(tmp_path, "environment.yml", ENVIRONMENT)) == Source(
        requirements=("timm==1.0.20", "six"),
        conda=("python=3.11", "conda-forge::numpy >=2", "pip"),
        channels=("conda-forge",),
        variables={"OMP_NUM_THREADS": "4"},
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dependencies:\n  - pip:\n    - -e .\n", "line 3: requirement: .*editable"),
        ("dependencies:\n  - npm:\n    - x\n", "line 2: dependencies: 'npm' is not known"),
        ("dependencies: numpy\n", "line 1: dependencies: is not a list"),
        ("dependencies:\n  - [a]\n", "line 2: dependencies: this item is not a text"),
        ("dependencies:\n  - a\n   - b: [\n", "line 3: is no YAML"),
        ("name: x\nchanels: [a]\n", "line 2: chanels: is not known"),
        ("name: x\n", "dependencies: is empty"),
        ("- a\n", "line 1: is no environment.yml"),
        ("variables:\n  1A: x\n", "line 2: variables: '1A' is not the name"),
        ("dependencies:\n  - '!x'\n", "line 2: conda: '!x' is not a package"),
    ],
)
def test_what_is_wrong_in_an_environment_yml_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(Wrong, match=f"(?s)environment.yml.*{says}"):
        read(write(tmp_path, "environment.yml", text))


def test_a_tag_of_yaml_makes_no_object(tmp_path: Path) -> None:
    text = f"dependencies: !!python/object/apply:os.mkdir [{tmp_path}/made]\n"
    with pytest.raises(Wrong, match=r"line 1: conda: .* is not a package"):
        read(write(tmp_path, "environment.yml", text))
    assert not (tmp_path / "made").exists()


UV_LOCK = """\
version = 1
requires-python = ">=3.9"
[[package]]
name = "demo"
source = { virtual = "." }
[package.optional-dependencies]
gpu = [{ name = "torch" }]
[[package]]
name = "torch"
version = "2.9.0"
source = { registry = "https://wheels.example/simple" }
"""


def test_a_uv_lock_is_read_by_uv_in_a_folder_of_its_own(tmp_path: Path) -> None:
    called = []

    def uv(words: Sequence[str], *, doing: str) -> str:
        folder = Path(words[words.index("--project") + 1])
        called.append((folder != tmp_path, (folder / "uv.lock").read_text() == UV_LOCK, words[-2:]))
        return f"torch==2.9.0 ; sys_platform == 'linux' \\\n    {H1}\n"

    path = write(tmp_path, "uv.lock", UV_LOCK)
    assert read_all([path], ["gpu"], uv) == Source(
        requirements=(f"torch==2.9.0 ; sys_platform == 'linux' {H1}",),
        python=">=3.9",
        indexes=("https://wheels.example/simple",),
    )
    assert called == [(True, True, ["--extra", "gpu"])]


def test_what_is_wrong_with_a_uv_lock_is_named(tmp_path: Path) -> None:
    def uv(words: Sequence[str], *, doing: str) -> str:
        raise BuildFailed("uv could not read it: it is of version 9")

    path = write(tmp_path, "uv.lock", UV_LOCK)
    with pytest.raises(Wrong, match="it is of version 9; write it again with `uv lock`"):
        read_all([path], [], uv)
    with pytest.raises(Wrong, match="has no extra 'x'; it has gpu"):
        read_all([path], ["x"], uv)
    write(tmp_path, "uv.lock", UV_LOCK.replace('registry = "https://wheels.example/simple"', 'git = "https://g/x"'))
    with pytest.raises(Wrong, match="line 9: package: torch comes from a repository"):
        read_all([path], [], uv)


def test_an_extra_needs_a_file_that_has_extras(tmp_path: Path) -> None:
    path = write(tmp_path, "requirements.txt", "six\n")
    with pytest.raises(Wrong, match=r"^extra: 'gpu' is of no file here"):
        read(path, "gpu")


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match=r"x\.txt: there is no such file"):
        read(tmp_path / "x.txt")
    with pytest.raises(Wrong, match="is a folder; name the file in it"):
        read(tmp_path)
    (tmp_path / "latin.txt").write_bytes(b"numpy # \xe4\n")
    with pytest.raises(Wrong, match="byte 8: is not UTF-8"):
        read(tmp_path / "latin.txt")
    (tmp_path / "bom.txt").write_bytes(b"\xef\xbb\xbfnumpy\n")
    assert read(tmp_path / "bom.txt").requirements == ("numpy",)
