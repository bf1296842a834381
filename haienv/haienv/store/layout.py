"""Where the files of environments are.

ROOT/users/ann/vision/
    env.toml                 what the user has asked for (`haienv.store.spec`)
    build.lock               held by the process that builds (`haienv.shared.locking`)
    publishing               the number of the generation that is about to become current (`haienv.store.generations`)
    references/              what must be kept, beside ROOT/references (`haienv.store.references`)
    draft/prefix             a copy by hard links that its owner may change freely (`haienv.building.drafts`)
    current -> generations/7
    generations/7/
        manifest.json        written when the generation is complete, never changed (`haienv.store.manifest`)
        requirements.lock    the packages with their hashes
        prefix/              the Python environment, read-only
        kernel/              the kernelspec of Jupyter
        env.toml             what it was made from: a rollback brings it back
        build.log

A generation without a manifest is one whose build has not ended, or was killed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping

from haienv.shared.errors import Wrong
from haienv.store.login import login_of
from haienv.store.names import BASE, EnvName, Owner

#: The folder of all environments.
ROOT_VARIABLE = "HAIENV_ROOT"
#: The original's variable for it.
ORIGINAL_ROOT = "HAIENV_PATH"
MANIFEST, LOCK, PREFIX, KERNEL, LOG = "manifest.json", "requirements.lock", "prefix", "kernel", "build.log"
SPEC = "env.toml"


def root_of(environ: Mapping[str, str]) -> Path:
    """Return the folder of all environments: HAIENV_ROOT, the original's HAIENV_PATH, the platform's, the user's own.

    Raises:
        Wrong: The variable names something else than a folder.
    """
    variable = ROOT_VARIABLE if environ.get(ROOT_VARIABLE) else ORIGINAL_ROOT
    named = environ.get(variable)
    if named:
        if os.path.lexists(named) and not os.path.isdir(named):
            raise Wrong(
                f"{variable}: {named} is no folder; set it to the folder of all environments, or leave it unset"
            )
        return Path(os.path.abspath(named))
    login = login_of(environ)
    return own_root(environ) if login is None or login.root is None else login.root


def own_root(environ: Mapping[str, str]) -> Path:
    """Return the folder of the environments of this user alone, which is taken where no other one is known."""
    data = environ.get("XDG_DATA_HOME") or os.path.join(environ.get("HOME", "/"), ".local", "share")
    return Path(os.path.abspath(data)) / "haienv"


@dataclass(frozen=True)
class Generation:
    """The folder of one generation, which may not exist."""

    folder: Path
    number: int

    @property
    def manifest(self) -> Path:
        """The manifest."""
        return self.folder / MANIFEST

    @property
    def hidden_manifest(self) -> Path:
        """The manifest while the generation is about to be removed: it does not count as complete."""
        return self.folder / f"{MANIFEST}.removing"

    @property
    def lock(self) -> Path:
        """The packages with their hashes."""
        return self.folder / LOCK

    @property
    def prefix(self) -> Path:
        """The Python environment."""
        return self.folder / PREFIX

    @property
    def python(self) -> Path:
        """The Python program of the environment."""
        return self.prefix / "bin" / "python"

    @property
    def spec(self) -> Path:
        """What it was made from."""
        return self.folder / SPEC

    @property
    def log(self) -> Path:
        """The output of the build."""
        return self.folder / LOG

    @property
    def complete(self) -> bool:
        """Whether its build has ended well."""
        return self.manifest.is_file()


@dataclass(frozen=True)
class EnvFolder:
    """The folder of one environment, which may not exist."""

    root: Path
    name: EnvName

    @property
    def folder(self) -> Path:
        """The folder itself."""
        return folder_of(self.root, self.name.owner) / self.name.name

    @property
    def spec(self) -> Path:
        """What the user has asked for."""
        return self.folder / SPEC

    @property
    def build_lock(self) -> Path:
        """The file that the process that builds holds locked."""
        return self.folder / "build.lock"

    @property
    def publishing(self) -> Path:
        """The number of the generation that is about to become current."""
        return self.folder / "publishing"

    @property
    def references(self) -> Path:
        """The folder of the references that the environment's owner writes."""
        return self.folder / "references"

    @property
    def draft(self) -> Path:
        """The folder of the draft; there may be none."""
        return self.folder / "draft"

    @property
    def current_link(self) -> Path:
        """The link to the current generation."""
        return self.folder / "current"

    @property
    def generations_folder(self) -> Path:
        """The folder of all generations."""
        return self.folder / "generations"

    def generation(self, number: int) -> Generation:
        """Return the generation of that number, which may not exist."""
        return Generation(self.generations_folder / str(number), number)

    def current(self) -> Generation | None:
        """Return the current generation; None: there is none yet."""
        try:
            number = int(Path(os.readlink(self.current_link)).name)
        except (OSError, ValueError):
            return None
        return self.generation(number)

    def generations(self) -> list[Generation]:
        """Return the complete generations in order of numbers."""
        return [one for one in self.begun() if one.complete]

    def begun(self) -> list[Generation]:
        """Return all generations in order of numbers, those whose build has not ended too."""
        try:
            names = os.listdir(self.generations_folder)
        except OSError:
            return []
        return [self.generation(number) for number in sorted(int(name) for name in names if name.isdigit())]


def folder_of(root: Path, owner: Owner) -> Path:
    """Return the folder of an owner's environments."""
    return root / BASE if owner.level == BASE else root / owner.level / owner.name
