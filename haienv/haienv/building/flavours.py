"""Makes the files of a generation: with uv alone, or with conda's packages first and uv for the rest."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from haienv.building import compiled, equal, interpreters, remembered, resolving
from haienv.building.interpreters import Interpreter
from haienv.building.remembered import Memory
from haienv.building.uv import Uv, cache_of
from haienv.shared import tree
from haienv.shared.tree import Contents
from haienv.store import lockfile
from haienv.store import manifest as manifests
from haienv.store import site as sites
from haienv.store import spec as specs
from haienv.store.layout import EnvFolder, Generation, folder_of
from haienv.store.manifest import Manifest
from haienv.store.names import BASE, USERS, Owner
from haienv.store.site import PYTHONS, Site
from haienv.store.spec import Spec, key_of

#: What a kernel needs.
KERNEL_PACKAGE = "ipykernel>=6"


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """Makes the files of one generation.

    Args:
        env: The environment.
        generation: Its new generation.
        spec: What it is made from.
        base: The generation that it extends; None: none.
        before: The manifest of the current generation; None: there is none.
        uv: Runs uv.
        site: The settings of the site.
        memory: The digests that the builder remembers.
    """

    env: EnvFolder
    generation: Generation
    spec: Spec
    base: Generation | None
    before: Manifest | None
    uv: Uv
    site: Site
    memory: Memory

    def prepare(self) -> tuple[str, Interpreter]:
        """Make the environment with its Python (and with all packages of conda), and resolve what pip is to install.

        Returns:
            The text of requirements.lock, which is written, and the Python.

        Raises:
            BuildFailed: It cannot be done.
            Wrong: Something that the user chose is not possible.
        """
        pins = {} if self.base is None else lockfile.read(self.base.lock)
        asked = [*lockfile.requirements(pins), *self.spec.requirements]
        specified = [*lockfile.conda(pins), *self.spec.conda]
        if specified:
            first, provided, python = self._with_conda(specified, needs_python=bool(asked) or self.spec.kernel)
        else:
            python = interpreters.make(self.uv, self.generation, self._wanted(), self.spec.requires_python)
            first, provided = "", {}
        self._note_private(python)
        if self.spec.kernel and "ipykernel" not in provided:
            asked.append(KERNEL_PACKAGE)
        text = first + self._resolved(asked, provided, python)
        self.generation.lock.write_text(text, encoding="utf-8")
        return text, python

    def _wanted(self) -> str | None:
        """Return the Python to make it with; None: any that is admitted."""
        if self.spec.python is not None:
            return of_base(self.env, self.spec.python) or self.spec.python
        if self.base is not None:
            return manifests.read(self.base.manifest).interpreter or None
        # A further package does not change the Python.
        before = self.before
        if before is not None and os.access(before.interpreter, os.X_OK):
            admitted = self.spec.requires_python
            if admitted is None or interpreters.admits(admitted, before.python):
                return before.interpreter
        return None

    def _with_conda(self, asked: Sequence[str], *, needs_python: bool) -> tuple[str, dict[str, str], Interpreter]:
        # Imported here: few environments have packages of conda.
        from haienv.building import conda

        channels = list(self.spec.channels)
        if self.base is not None:
            channels += specs.read(self.base.spec).channels
        worker = conda.Conda(
            environ=self.uv.environ, cache=memory_of(self.uv.environ) / "conda", log=self.generation.log,
            show=self.uv.show,
        )  # fmt: skip
        chosen = conda.specs_of(asked, self.spec.python, needs_python=needs_python)
        addresses = [self.site.channel(one) for one in channels if one != conda.NONE]
        chosen, named = conda.placed(chosen, self.site.channel)
        text = worker.install(self.generation.prefix, chosen, list(dict.fromkeys([*addresses, *named])))
        return text, conda.provided(self.generation.prefix), conda.interpreter(self.generation)

    def _note_private(self, python: Interpreter) -> None:
        """Say so if others will not be able to run a shared environment."""
        if self.env.name.owner.level != USERS and not (python.inside or interpreters.for_others(python.program)):
            self.uv.show(
                f"warning: {python.program} is in a folder of one user alone: others cannot run {self.env.name}"
            )

    def _resolved(self, asked: Sequence[str], provided: Mapping[str, str], python: Interpreter) -> str:
        """Return the lock of what pip is to install beside the packages of conda."""
        if not asked:
            return ""
        self.uv.show("resolving")
        limits = [f"{name}=={version}" for name, version in provided.items()]
        text = resolving.resolve(
            self.uv,
            # uv knows the Python of the machine, and would start that of the new folder to ask it the same.
            self.generation.python if python.inside else Path(python.program),
            resolving.Wanted(
                requirements=asked,
                constraints=[*self.spec.constraints, *limits],
                indexes=self.spec.indexes,
                packages=self.site.packages,
                doing="resolve the requirements"
                + (f" together with those of {self.spec.extends}" if self.base is not None else ""),
            ),
        )
        if not provided:
            return text
        return "".join(
            f"{line}\n" for block in resolving.blocks(text) if key_of(block[0]) not in provided for line in block
        )

    def install(self, text: str) -> None:
        """Install what a lock names, by hard links to the files of uv's cache. Raises BuildFailed."""
        self.uv.show("installing")
        self._install(text)
        tree.without_locks(self.generation.prefix)

    def _install(self, text: str) -> None:
        words = ["--python", str(self.generation.python), "--require-hashes"]
        words += resolving.index_words([*self.spec.indexes, *self.site.packages.values()])
        # The hashes decide which file it is; every index may be the one that has it.
        words += ["--index-strategy", "unsafe-best-match"]
        if lockfile.conda(lockfile.packages(text)):
            if lockfile.requirements(lockfile.packages(text)):
                self.uv.run(
                    ["pip", "install", *words, "--no-deps", "--break-system-packages", "-r", str(self.generation.lock)],
                    doing="install the packages of pip",
                )
            return
        self.uv.run(
            ["pip", "sync", *words, "--allow-empty-requirements", str(self.generation.lock)],
            doing="install the packages",
        )

    def complete(self, python: Interpreter) -> Contents:
        """Compile the Python files, seal all, and return what the environment holds. Raises OSError.

        The files are walked through once.
        """
        with tree.without_gc():
            return self._complete(python)

    def _complete(self, python: Interpreter) -> Contents:
        top, store = self.generation.prefix, self.memory.folder
        found, folders = remembered.look(top, self.memory.known(()), seal=True)
        fresh = remembered.read(top, found, self.memory)
        shared = equal.share(top, fresh, store, self.memory.known(()))
        if shared:
            found = [shared.get(one.path, one) for one in found]
        self.memory.remember(one for one in fresh if one.path not in shared)
        if python.implementation == "CPython":
            tag = "cpython-" + "".join(python.version.split(".")[:2])
            many = compiled.compile_all(top, self.generation.python, tag, found, store)
            if many:
                files = "file" if many == 1 else "files"
                self.uv.show(f"Compiled {many} {files} of Python, which further environments share")
            for folder in folders:
                tree.seal_folder(folder)
        else:
            tree.seal(top)
        return remembered.contents(found)


def memory_of(environ: Mapping[str, str]) -> Path:
    """Return the builder's own folder of what further builds use: beside uv's cache, on its file system."""
    return Path(cache_of(environ)) / "haienv"


def of_base(env: EnvFolder, wanted: str) -> str | None:
    """Return the program of a Python of the base environments, which every machine has and everybody can run.

    Args:
        env: The environment that is to have it.
        wanted: A version such as 3.12.
    """
    folder = folder_of(env.root, Owner(BASE)) / PYTHONS
    if not re.fullmatch(r"3\.\d+(\.\d+)?", wanted) or not folder.is_dir():
        return None
    pattern = re.compile(rf"cpython-{re.escape(wanted)}(\.\d+)?-linux-[^+]*")
    found = [one for one in folder.iterdir() if pattern.fullmatch(one.name) and not one.is_symlink()]
    programs = [one / "bin" / "python3" for one in sorted(found, key=lambda one: _patch(one.name))]
    return next((str(one) for one in reversed(programs) if os.access(one, os.X_OK)), None)


def _patch(name: str) -> int:
    match = re.match(r"cpython-3\.\d+\.(\d+)", name)
    return int(match[1]) if match else 0


def site_of(env: EnvFolder) -> Site:
    """Return the settings for an environment. Raises Wrong."""
    return sites.read(env.root)


def pythons_of(env: EnvFolder) -> Path:
    """Return the folder for the Pythons that uv fetches for an environment's owner."""
    return folder_of(env.root, env.name.owner) / PYTHONS


__all__ = ["KERNEL_PACKAGE", "Workshop", "memory_of", "of_base", "pythons_of", "site_of"]
