"""Builds generations: resolves, installs, describes, seals and publishes.

A generation is made at its final place and is complete with its manifest, which is written last. `current` moves by one
rename after that. So a build that dies at any point leaves `current` as it was; the next build removes what is left.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import platform
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from haienv.building import abi, flavours, kernels
from haienv.building.flavours import Workshop
from haienv.building.interpreters import Interpreter
from haienv.building.uv import Uv, find
from haienv.shared import locking, tree
from haienv.shared.errors import BuildFailed, Wrong
from haienv.shared.files import link_atomically, write_atomically
from haienv.store import lockfile
from haienv.store import manifest as manifests
from haienv.store.layout import EnvFolder, Generation
from haienv.store.manifest import Manifest
from haienv.store.spec import Spec


@dataclass(frozen=True, kw_only=True)
class Builder:
    """Builds the generations of environments.

    Args:
        environ: The variables of the caller.
        show: Called with each line of progress.
        wait_s: Longest wait for another process that builds the same environment, seconds; None: no limit.
    """

    environ: Mapping[str, str]
    show: Callable[[str], None]
    wait_s: float | None = None

    def build(
        self, env: EnvFolder, change: Callable[[Spec | None], Spec], *, base: Generation | None, what: str
    ) -> Generation:
        """Change what an environment is made from, and build its next generation.

        Where neither the packages nor anything else would change, the current generation stays.

        Args:
            env: The environment; it may be new.
            change: Called with the spec as it is (None: a new environment), while nobody else can change it.
            base: The generation that it extends; None: none.
            what: The verb and its arguments, for those who wait.

        Raises:
            Busy: Another process builds it.
            BuildFailed: Nothing has changed.
            Wrong: What `change` raises.
        """
        new = not env.folder.exists()
        env.generations_folder.mkdir(parents=True, exist_ok=True)
        try:
            with locking.building(
                env.build_lock, what, user=getpass.getuser(), wait_s=self.wait_s, say=self.show
            ):  # fmt: skip
                before = manifest_or_none(env)
                spec = change(_spec_of(env))
                self._sweep(env)
                return self._next(env, spec, base, before)
        except BaseException:
            if new and not env.generations():
                remove_tree(env.folder)
            raise

    def _next(self, env: EnvFolder, spec: Spec, base: Generation | None, before: Manifest | None) -> Generation:
        generation = env.generation(_next_number(env))
        generation.folder.mkdir()
        try:
            made = self._make(env, generation, spec, base, before)
        except BaseException:
            remove_tree(generation.folder)
            raise
        if made is None:
            current = env.current()
            assert current is not None
            remove_tree(generation.folder)
            spec.write(env.spec)
            return current
        spec.write(generation.spec)
        made.write(generation.manifest)
        spec.write(env.spec)
        publish(env, generation)
        return generation

    def _make(
        self, env: EnvFolder, generation: Generation, spec: Spec, base: Generation | None, before: Manifest | None
    ) -> Manifest | None:
        """Make everything but the manifest, and return that; None: it would be the generation that is current."""
        site = flavours.site_of(env)
        uv = Uv(
            program=find(self.environ), environ=site.variables(self.environ, flavours.pythons_of(env)),
            log=generation.log, show=self.show,
        )  # fmt: skip
        extended = None if base is None else manifests.read(base.manifest)
        work = Workshop(env=env, generation=generation, spec=spec, base=base, before=before, uv=uv, site=site)
        text, python = work.prepare()
        lock = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
        extends = f"{extended.name}@{extended.generation}" if extended else None
        if before is not None and _same(before, lock, python, extends, spec):
            return None
        work.install(text)
        add_haienv(generation)
        if spec.kernel:
            kernels.write(generation, env.name, dict(spec.variables))
        found = work.complete(python)
        tree.seal(generation.prefix)
        return Manifest(
            name=str(env.name),
            generation=generation.number,
            digest=found.digest,
            files=found.files,
            size=found.size,
            lock=lock,
            python=python.version,
            interpreter=python.noted,
            machine=platform.machine(),
            glibc=abi.glibc(generation.prefix, python.program),
            cuda=abi.cuda(generation.prefix, lockfile.packages(text)),
            extends=extends,
            extends_digest=extended.digest if extended else None,
            requirements=spec.requirements,
            built_by=getpass.getuser(),
            built_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            kernel=spec.kernel,
        )

    def _sweep(self, env: EnvFolder) -> None:
        """Remove what builds that died have left. Only the holder of the lock may do this."""
        for one in env.begun():
            if not one.complete:
                remove_tree(one.folder)


def add_haienv(generation: Generation) -> None:
    """Add this package to an environment that lacks it: a script calls `haienv.set_env` there once more."""
    [place] = generation.prefix.glob("lib/python3*/site-packages")
    if not (place / "haienv").exists():
        own = Path(__file__).parents[1]
        shutil.copytree(own, place / "haienv", ignore=shutil.ignore_patterns(tree.COMPILED))


def publish(env: EnvFolder, generation: Generation) -> None:
    """Make a complete generation the current one. Raises OSError."""
    link_atomically(env.current_link, os.path.join("generations", str(generation.number)))


def manifest_or_none(env: EnvFolder) -> Manifest | None:
    """Return the manifest of the current generation; None: there is no generation. Raises Damaged."""
    current = env.current()
    try:
        return None if current is None else manifests.read(current.manifest)
    except FileNotFoundError:
        return None


def remove_tree(folder: os.PathLike[str]) -> None:
    """Remove a folder with all that is below it, whatever rights to write are missing. Raises OSError."""
    if os.path.isdir(folder):
        tree.unseal(folder)  # type: ignore[arg-type]
        shutil.rmtree(folder)


def _spec_of(env: EnvFolder) -> Spec | None:
    from haienv.store import spec

    try:
        return spec.read(env.spec)
    except FileNotFoundError:
        return None


def _next_number(env: EnvFolder) -> int:
    """Return a number that no generation of the environment has ever had, and note it."""
    path = env.folder / "last"
    try:
        last = int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        last = 0
    number = max([last, *(one.number for one in env.begun())]) + 1
    write_atomically(path, f"{number}\n")
    return number


def _same(before: Manifest, lock: str, python: Interpreter, extends: str | None, spec: Spec) -> bool:
    made = (before.lock, before.python, before.interpreter, before.extends, before.kernel)
    return made == (lock, python.version, python.noted, extends, spec.kernel)


__all__ = ["BuildFailed", "Builder", "Wrong", "manifest_or_none", "publish", "remove_tree"]
