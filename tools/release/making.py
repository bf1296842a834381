"""`make release`: the folder that strangers get, built twice to the same bytes, and signed."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hai_hub.cluster.release_folder import NAMESPACE, SIGNATURE, SUMS
from release import building, number
from release.building import CannotBuild, Plan

TARGET: Final = number.ROOT / "build" / "release"
#: The second build differs from the first in all that must not matter.
_OTHERWISE: Final = {"TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONHASHSEED": "7"}


def make(*, key: Path | None, images: bool = True, bases: tuple[str, ...] = (), target: Path = TARGET) -> Path:
    """Make the release of the commit that is checked out; returns its folder.

    Args:
        key: The private key that signs; None: nobody does.
        images: Whether images are built.
        bases: Other bases of images, IMAGE=BASE each.
        target: The folder of all releases.

    Raises:
        CannotBuild: Something is missing or wrong, or two builds differ.
        number.Wrong: A file says another version.
    """
    _programs(key, images)
    if wrong := list(number.differences()):
        raise number.Wrong("\n".join(wrong))
    plan = Plan(_commit(), int(_git("show", "--no-patch", "--format=%ct", "HEAD")), images, bases)
    folder = target / number.number()
    with tempfile.TemporaryDirectory(prefix="hai-release-") as scratch:
        work = Path(scratch)
        made = [_built(work / "first", plan), _built(work / "a second one", plan, **_OTHERWISE)]
        if differ := sorted(differences(*made)):
            kept = target / "differs"
            shutil.rmtree(kept, ignore_errors=True)
            for name, one in zip(("first", "second"), made, strict=True):
                for file in differ:
                    (kept / name).mkdir(parents=True, exist_ok=True)
                    if (one / file).exists():
                        shutil.copy(one / file, kept / name / file)
            raise CannotBuild(f"two builds differ in {', '.join(differ)}: compare the two below {kept}")
        write_sums(made[0])
        if key is not None:
            sign(made[0], key)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made[0], folder)
    return folder


def _built(place: Path, plan: Plan, **environ: str) -> Path:
    print(f"building {number.number()} of {plan.commit[:12]}", flush=True)
    building.tree(plan.commit, place / "tree")
    building.build(place / "tree", place / "files", plan, environ={**os.environ, **environ})
    return place / "files"


def differences(first: Path, second: Path) -> Iterator[str]:
    """Yield the names of files that are not in both folders with the same bytes."""
    names = [{path.name: _sum(path) for path in folder.iterdir()} for folder in (first, second)]
    for name in names[0].keys() | names[1].keys():
        if names[0].get(name) != names[1].get(name):
            yield name


def write_sums(folder: Path) -> None:
    """Write the file with the sums of all others."""
    lines = [f"{_sum(path)}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / SUMS).write_text("".join(lines), encoding="ascii")


def sign(folder: Path, key: Path) -> None:
    """Sign the sums. ssh-keygen asks for the key's passphrase on the terminal, or the agent. Raises CannotBuild."""
    (folder / SIGNATURE).unlink(missing_ok=True)
    done = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(folder / SUMS)], check=False
    )
    if done.returncode:
        raise CannotBuild(
            f"--key: ssh-keygen does not sign with {key}: name a private key, or a public one of the agent"
        )


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _programs(key: Path | None, images: bool) -> None:
    if images and shutil.which("buildah") is None:
        raise CannotBuild(
            "buildah is not there, so no images: on Debian `apt install buildah`, or say --without images"
        )
    if key is not None and shutil.which("ssh-keygen") is None:
        raise CannotBuild("ssh-keygen is not there: on Debian `apt install openssh-client`, or say --unsigned")
    if key is not None and not key.is_file():
        raise CannotBuild(
            f"--key: {key} is no file: name a private key, or a public one whose private one the agent has"
        )


def _commit() -> str:
    if changed := _git("status", "--porcelain").splitlines():
        raise CannotBuild(
            f"{changed[0][3:]} is not as it was committed: commit or remove it; a release is made of a commit"
        )
    return _git("rev-parse", "HEAD")


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=number.ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuild(f"git {words[0]}: {done.stderr.strip()}: a release is made of a commit, in a clone")
    return done.stdout.strip()
