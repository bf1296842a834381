"""Build all files of a release from one tree. Nothing of the machine may be in them: no folder, time or umask of it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

from hai_hub.cluster.images import VALUES
from hai_hub.cluster.release_folder import DIGESTS, archive_name
from release import number, sbom

ROOT: Final = number.ROOT
#: Folders of our packages: each is a wheel, and each is where its modules are found.
WHEELS: Final = ("", "client", "client/slurm", "client/hfai", "haienv", "lab_extension")
_MODULES: Final = ("client", "client/slurm", "haienv", "hub_config", "scheduler_service", "spawner")
NOTES: Final = ("notes.md", "notes.zh-CN.md")
_PIP: Final = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps")


class CannotBuild(Exception):
    """A release cannot be made; the text says why, with a remedy."""


@dataclass(frozen=True)
class Plan:
    """What is built."""

    commit: str
    time: int  #: Of the commit, seconds since 1970; all files are of then.
    images: bool = True
    bases: tuple[str, ...] = ()  #: Other bases of images, IMAGE=BASE each.


def tree(commit: str, folder: Path) -> None:
    """Put the files of a commit into a folder, and what npm has installed here beside the panel's sources."""
    folder.mkdir(parents=True)
    with subprocess.Popen(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE) as git:
        unpacked = subprocess.run(["tar", "-x", "-C", str(folder)], stdin=git.stdout, check=False)
    if git.returncode or unpacked.returncode:
        raise CannotBuild(f"git has no tree of {commit}: name a commit of this clone")
    installed = ROOT / "lab_extension" / "node_modules"
    if installed.is_dir():
        # Links are copied as they are. The files are the same, and npm writes none of them again.
        shutil.copytree(installed, folder / "lab_extension" / "node_modules", symlinks=True, copy_function=_linked)


def _linked(source: str, target: str) -> str:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
    return target


def build(source: Path, target: Path, plan: Plan, *, environ: Mapping[str, str] = os.environ) -> None:
    """Write all files of the release into `target`. Raises CannotBuild."""
    version = number.number(source)
    target.mkdir(parents=True)
    paths = os.pathsep.join(str(source / one) for one in _MODULES)
    env = {**environ, "SOURCE_DATE_EPOCH": str(plan.time), "PYTHONPATH": paths}
    for one in WHEELS:
        _run([*_PIP, "--no-build-isolation", "-w", target, source / one], source, env)
    _run([sys.executable, "-m", "hai_client.archive", target / "hai.pyz"], source, env)
    chart = source / "helm" / "hai"
    _helper(source, "archives").pack(
        chart, target / f"hai-{number.forms(version)['semantic']}.tgz", top="hai/", time=plan.time, compressed=True
    )
    shutil.copy(chart / "values.schema.json", target / "values.schema.json")
    for name in NOTES:
        _notes(source, version, name, target)
    digests = _images(source, target, plan, env) if plan.images else {}
    _bills(source, target, version, digests)
    said = {"version": version, "commit": plan.commit, "images": digests}
    (target / DIGESTS).write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")


def _notes(source: Path, version: str, name: str, target: Path) -> None:
    file = source / "releases" / version / name
    if not file.is_file():
        raise CannotBuild(
            f"releases/{version}/{name} is not in the commit: write what the release brings, and commit it"
        )
    shutil.copy(file, target / name)


def _images(source: Path, target: Path, plan: Plan, env: Mapping[str, str]) -> dict[str, str]:
    words: list[object] = [sys.executable, source / "helm" / "images" / "build.py", "--tool", "buildah"]
    words += ["--registry", "localhost", "--timestamp", plan.time, "--oci", target]
    words += [word for base in plan.bases for word in ("--base", base)]
    _run(words, source, env)
    return {image: sbom.manifest_digest(target / archive_name(image)) for image in sorted(VALUES)}


def _bills(source: Path, target: Path, version: str, images: Iterable[str]) -> None:
    """Write the bills of materials: of what runs on Python, of the panel, and of each image."""
    panel = sbom.npm(json.loads((source / "lab_extension" / "package-lock.json").read_text(encoding="utf-8")))
    bills = {"python": sbom.python((source / "requirements.lock").read_text(encoding="utf-8")), "panel": panel}
    for image in images:
        context = source / "build" / "images" / image
        parts = sbom.debian(sbom.dpkg_status(target / archive_name(image)))
        if (file := context / "locked.txt").is_file():
            parts += [*sbom.python(file.read_text(encoding="utf-8")), *panel]
        if (file := context / "package-lock.json").is_file():
            parts += sbom.npm(json.loads(file.read_text(encoding="utf-8")))
        bills[image] = parts
    for name, parts in bills.items():
        kind = "container" if name in images else "application"
        (target / f"hai-{name}.cdx.json").write_text(
            sbom.document(f"hai-{name}", version, parts, kind=kind), encoding="utf-8"
        )


def _helper(source: Path, name: str) -> ModuleType:
    """Return a module of helm/images, which is no package."""
    spec = importlib.util.spec_from_file_location(name, source / "helm" / "images" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run(words: Iterable[object], source: Path, env: Mapping[str, str]) -> None:
    """Run a program in the tree; what it says is shown only if it fails."""
    command = [str(word) for word in words]
    done = subprocess.run(command, cwd=source, env=env, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise CannotBuild(f"`{' '.join(command)}` ended with status {done.returncode}:\n{said}")
