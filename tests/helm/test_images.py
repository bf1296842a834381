"""The images: what is in their folders, and what a build may ask the network for."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest
from packaging.utils import canonicalize_name

from hai_hub.cluster.chart import Chart
from hai_hub.cluster.chart_values import problems
from hai_hub.cluster.logins import CLASSES

IMAGES = Path(__file__).parents[2] / "helm" / "images"
FOLDERS = sorted(folder.name for folder in IMAGES.iterdir() if (folder / "Dockerfile").is_file())


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_images", IMAGES / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_image_has_a_dockerfile_and_the_other_way_round(build: ModuleType) -> None:
    assert sorted(build.IMAGES) == FOLDERS


def test_the_hubs_image_has_what_values_of_the_chart_can_ask_for(build: ModuleType) -> None:
    in_image = build.locked.closure([f"hai-platform[{build.HUB}]"])
    # Authenticators by `logins.type` and `hub.config`, and sinks by `scheduler.notifications.sinksSecret`.
    for module in ("oauthenticator.generic", "ldapauthenticator", "ldap3", "jwt", "apprise"):
        importlib.import_module(module)
        (package,) = metadata.packages_distributions()[module.partition(".")[0]]
        assert canonicalize_name(package) in in_image, module
    for path in CLASSES.values():
        module, _, name = path.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), name), type)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_build_asks_the_network_for_its_base_and_for_nothing_else(name: str) -> None:
    text = (IMAGES / name / "Dockerfile").read_text().replace("\\\n", " ")
    stages = re.findall(r"^FROM \S+ AS (\S+)", text, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) <= {"${BASE}", *stages}
    for command in re.findall(r"pip install[^&]*", text):
        assert "--no-index" in command, command
    assert not re.search(r"\b(apt-get|apt|npm|curl|wget)\b", text)


def test_what_has_the_same_bytes_makes_the_same_layer_whenever_it_was_fetched(
    build: ModuleType, tmp_path: Path
) -> None:
    contexts = []
    for name, when in (("first", 1_000_000_000), ("second", 1_700_000_000)):
        folder = tmp_path / name / "wheels"
        folder.mkdir(parents=True)
        (folder / "one.whl").write_bytes(b"one")
        (folder / "link").symlink_to("one.whl")
        os.utime(folder / "one.whl", (when, when))
        build.settle(tmp_path / name)
        contexts.append(
            [path.lstat().st_mtime for path in (folder / "one.whl", folder / "link", folder, folder.parent)]
        )
    assert contexts == [[0.0] * 4, [0.0] * 4]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_users_read_what_an_image_gets_whatever_the_umask_here_was(
    build: ModuleType, tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        (tmp_path / "made" / "bin").mkdir(parents=True)
        for name in ("text", "bin/program"):
            (tmp_path / "made" / name).write_text("x")
        (tmp_path / "made" / "bin" / "program").chmod(0o700)
        (tmp_path / "made" / "link").symlink_to("/nowhere")
    finally:
        os.umask(before)
    build.settle(tmp_path / "made")
    modes = {name: (tmp_path / "made" / name).stat().st_mode & 0o777 for name in (".", "bin", "bin/program", "text")}
    assert modes == {".": 0o755, "bin": 0o755, "bin/program": 0o755, "text": 0o644}


@pytest.mark.parametrize(
    ("asked", "there", "not_there"),
    [
        (
            "HUB",
            {"jupyterhub", "kubernetes", "psycopg-binary", "redis", "sqlalchemy", "tornado"},
            {"jupyterlab", "pytest"},
        ),
        ("USER", {"jupyterlab", "jupyter-server", "httpx", "nbclient"}, {"kubernetes", "pytest", "matplotlib"}),
    ],
)
def test_an_image_gets_what_the_lock_names_and_no_more_than_it_needs(
    build: ModuleType, asked: str, there: set[str], not_there: set[str]
) -> None:
    found = build.locked.entries(build.locked.locked([f"hai-platform[{getattr(build, asked)}]"]))
    assert there <= found.keys()
    assert not not_there & found.keys()
    assert all("--hash=sha256:" in entry for entry in found.values())


def test_what_the_lock_does_not_name_is_not_built(build: ModuleType) -> None:
    with pytest.raises(build.locked.NotLocked, match=r"no entry for .*pytest.*make lock"):
        build.locked.locked(["pytest"])


DIGEST = "sha256:" + "0123456789abcdef" * 4
#: Programs that stand in for the real ones: they write down what they were asked, and answer as those do.
BUILDAH = f"""#!/bin/sh
echo "$@" >> "$CALLS"
while [ $# -gt 0 ]; do [ "$1" = --digestfile ] && printf '{DIGEST}' > "$2"; shift; done
"""
DOCKER = f"""#!/bin/sh
echo "$@" >> "$CALLS"
[ "$1" = image ] && echo '["elsewhere/hai-task@sha256:1", "registry.example.org/hai/hai-task@{DIGEST}"]'
exit 0
"""


@pytest.mark.parametrize(("tool", "text"), [("buildah", BUILDAH), ("docker", DOCKER)])
def test_what_is_pushed_is_named_by_its_digest(
    build: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tool: str,
    text: str,
) -> None:
    program = tmp_path / "bin" / tool
    program.parent.mkdir()
    program.write_text(text)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setattr(build, "CONTEXTS", tmp_path / "contexts")
    words = ["task", "--tool", tool, "--registry", "registry.example.org/hai", "--push"]
    assert build.main(words) == 0
    said = capsys.readouterr().out
    assert f"built registry.example.org/hai/hai-task:{build.version()}" in said
    assert json.loads(said[said.index("{") :]) == {"tasks": {"image": {"name": "hai-task", "digest": DIGEST}}}
    assert f"registry.example.org/hai/hai-task:{build.version()}" in (tmp_path / "calls").read_text()


def test_a_tool_that_says_no_digest_is_named(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(build.BuildError, match="docker pushed r/hai-task:1 and does not say by which digest"):
        build.push("docker", "r/hai-task:1")


def test_to_push_needs_a_registry(build: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build.main(["task", "--push"])
    assert "--registry registry.example.org/hai" in capsys.readouterr().err


def test_digests_land_where_the_chart_reads_them(build: ModuleType) -> None:
    values = build.as_values(dict.fromkeys(build.IMAGES, DIGEST))
    assert not problems(json.dumps(values), Chart.find(None).schema, file="values.yaml")
    images = [values["hub"], values["singleuser"], values["proxy"]["chp"], values["tasks"]]
    assert all(table["image"]["digest"] == DIGEST for table in images)
    assert values["tasks"]["initImage"]["digest"] == DIGEST
