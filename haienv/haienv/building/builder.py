"""Builds generations: resolves, installs, describes, seals and publishes.

A generation is made at its final place and is complete with its manifest, which is written last. `current` moves by one
rename after that. So a build that dies at any point leaves `current` as it was; the next build removes what is left.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from haienv.building import abi, flavours
from haienv.building.facts import Facts, facts_of, uv_for
from haienv.building.flavours import Workshop
from haienv.building.remembered import Memory
from haienv.building.uv import cache_of
from haienv.shared import tree
from haienv.shared.beside import Beside
from haienv.shared.errors import Wrong
from haienv.shared.unfollowed import remove_tree
from haienv.store import kernels, lockfile
from haienv.store import manifest as manifests
from haienv.store.generations import changing, commit, manifest_or_none, next_number
from haienv.store.layout import EnvFolder, Generation
from haienv.store.manifest import Manifest
from haienv.store.spec import Spec

#: The parts of this package that `haienv.set_env` needs: it finds environments, and builds none.
_NEEDED = ("shared", "store", "using")


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
            DiskFull: A disk got full, and nothing has changed.
            BuildFailed: Nothing has changed.
            Wrong: What `change` raises.
        """
        writes = (cache_of(self.environ), self.environ.get("TMPDIR") or "/tmp")  # noqa: S108  where uv writes, too
        with changing(env, what, say=self.show, wait_s=self.wait_s, new=True, writes=writes):
            before = manifest_or_none(env)
            spec = change(_spec_of(env))
            refuse_draft(env)
            return self._next(env, spec, base, before)

    def _next(self, env: EnvFolder, spec: Spec, base: Generation | None, before: Manifest | None) -> Generation:
        generation = env.generation(next_number(env))
        generation.folder.mkdir()
        try:
            made = self._make(env, generation, spec, base, before)
            if made is not None:
                commit(env, generation, made, spec.text())
                return generation
        except BaseException:
            current = env.current()
            if current is None or current.number != generation.number:
                remove_tree(generation.folder)
            raise
        remove_tree(generation.folder)
        current = env.current()
        assert current is not None
        spec.write(env.spec)
        return current

    def _make(
        self, env: EnvFolder, generation: Generation, spec: Spec, base: Generation | None, before: Manifest | None
    ) -> Manifest | None:
        """Make everything but the manifest, and return that; None: it would be the generation that is current."""
        site = flavours.site_of(env)
        uv = uv_for(env.root, generation, self.environ, self.show)
        extended = None if base is None else manifests.read(base.manifest)
        memory = Memory(flavours.memory_of(uv.environ))
        work = Workshop(
            env=env, generation=generation, spec=spec, base=base, before=before, uv=uv, site=site, memory=memory
        )
        text, python = work.prepare()
        lock = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
        facts = facts_of(python)
        extends = f"{extended.name}@{extended.generation}" if extended else None
        if before is not None and _same(before, lock, facts, extends, spec):
            return None
        needed = Beside(lambda: abi.of_python(python.program))
        work.install(text)
        add_haienv(generation)
        if spec.kernel:
            kernels.write(generation, env.name, dict(spec.variables), facts.python)
        found = work.complete(python)
        return Manifest(
            name=str(env.name),
            generation=generation.number,
            digest=found.digest,
            files=found.files,
            size=found.size,
            lock=lock,
            python=facts.python,
            interpreter=facts.interpreter,
            machine=facts.machine,
            glibc=abi.glibc(generation.prefix, needed.result()),
            cuda=abi.cuda(generation.prefix, lockfile.packages(text)),
            extends=extends,
            extends_digest=extended.digest if extended else None,
            requirements=spec.requirements,
            built_by=facts.built_by,
            built_at=facts.built_at,
            kernel=spec.kernel,
            variables=dict(spec.variables),
        )


def add_haienv(generation: Generation) -> None:
    """Add this package to an environment that lacks it: a script calls `haienv.set_env` there once more."""
    [place] = generation.prefix.glob("lib/python3*/site-packages")
    if not (place / "haienv").exists():
        own = Path(__file__).parents[1]
        for part in _NEEDED:
            shutil.copytree(own / part, place / "haienv" / part, ignore=shutil.ignore_patterns(tree.COMPILED))
        for file in own.glob("*.py"):
            shutil.copy2(file, place / "haienv")


def refuse_draft(env: EnvFolder) -> None:
    """Raise Wrong if a draft is open: what it holds would be missing in a generation that is built beside it."""
    if env.draft.exists():
        raise Wrong(
            f"environment: a draft of {env.name} is open; `haienv freeze {env.name}` makes a generation of it,"
            f" `haienv draft {env.name} --discard` removes it"
        )


def _spec_of(env: EnvFolder) -> Spec | None:
    from haienv.store import spec

    try:
        return spec.read(env.spec)
    except FileNotFoundError:
        return None


def _same(before: Manifest, lock: str, facts: Facts, extends: str | None, spec: Spec) -> bool:
    made = (before.lock, before.python, before.interpreter, before.extends, before.kernel, before.variables)
    return made == (lock, facts.python, facts.interpreter, extends, spec.kernel, dict(spec.variables))
