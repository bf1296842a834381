"""Drafts: a copy of an environment that its owner changes with pip or uv as they like, and freezes into a generation.

Draft and generations share their files by hard links. pip and uv replace files and never write into them, so a
generation stays what it is; its files are read-only besides.
"""

from __future__ import annotations

import getpass
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from haienv.building import abi, installed
from haienv.building.facts import moment
from haienv.shared import snapshot, tree
from haienv.shared.errors import BuildFailed, Missing, Wrong
from haienv.shared.files import write_atomically
from haienv.shared.tree import without_gc
from haienv.shared.unfollowed import remove_tree
from haienv.store import kernels, lockfile
from haienv.store import manifest as manifests
from haienv.store import spec as specs
from haienv.store.generations import changing, commit, discard, next_number, staged_in
from haienv.store.layout import EnvFolder, Generation
from haienv.store.manifest import Manifest
from haienv.store.references import processes_in

#: The file of a draft with the digest of what was seen of it when it was opened or frozen.
_SEEN = "seen"


@dataclass(frozen=True)
class Frozen:
    """What `freeze` has made."""

    generation: Generation
    changed: bool  #: False: nothing had changed, and it is the generation that was there.


def prefix_of(env: EnvFolder) -> Path:
    """Return the Python environment of the draft, which may not exist."""
    return env.draft / "prefix"


def open_draft(env: EnvFolder, *, say: Callable[[str], None]) -> tuple[Path, bool]:
    """Return the draft of an environment, and whether it was made now, from the current generation.

    Raises:
        Missing: The environment has no generation yet.
        Busy: Another process builds it.
    """
    with changing(env, f"draft {env.name}", say=say):
        if env.draft.exists():
            return prefix_of(env), False
        current = env.current()
        if current is None:
            raise Missing(f"environment: {env.name} has no generation yet; `haienv create {env.name}` makes it")
        lockfile.refuse_conda(current.lock, "draft")
        stage = staged_in(env.folder)
        try:
            copied = snapshot.link_tree(current.prefix, stage / "prefix")
            if copied:
                say(
                    f"{copied} files were copied, since hard links cannot be made here: a draft takes their space again"
                )
            write_atomically(stage / "from", f"{current.number}\n")
            found = snapshot.scan(stage / "prefix")
            _note(stage, snapshot.filled(stage / "prefix", found, {}))
            os.rename(stage, env.draft)
        except BaseException:
            remove_tree(stage)
            raise
        return prefix_of(env), True


def discard_draft(env: EnvFolder, *, say: Callable[[str], None]) -> None:
    """Remove the draft. Raises Missing; Wrong if processes use it."""
    with changing(env, f"draft {env.name}", say=say):
        _check_open(env)
        users = processes_in(prefix_of(env))
        if users:
            raise Wrong(f"draft: that of {env.name} is in use by {', '.join(users[:5])}; end these first")
        discard(env.draft)


def freeze(env: EnvFolder, *, say: Callable[[str], None]) -> Frozen:
    """Make a generation of the draft, and make it current. The draft stays open.

    Nothing that has not changed since the draft was opened or frozen is read again: a change is seen by size, time of
    change and inode. What the draft holds is what the generation holds, file by file.

    Raises:
        Missing: There is no draft.
        Wrong: It has an editable install, or uses files outside of itself.
        BuildFailed: Somebody has changed it meanwhile.
    """
    with changing(env, f"freeze {env.name}", say=say):
        before = env.generation(_check_open(env))
        prefix = prefix_of(env)
        if before.complete and not _changed(env):
            return Frozen(before, changed=False)
        known = snapshot.read_index(env.draft / "index")
        installed.refuse_outside(prefix, str(env.name))
        installed.make_relocatable(prefix)
        generation = env.generation(next_number(env))
        generation.folder.mkdir()
        try:
            spec, made, found = _snapshot(env, generation, before, known)
            commit(env, generation, made, spec.text())
        except BaseException:
            current = env.current()
            if current is None or current.number != generation.number:
                remove_tree(generation.folder)
            raise
        # A draft whose process dies here is frozen once more, into a generation of the same digest.
        again = snapshot.filled(prefix, snapshot.scan(prefix), found)
        write_atomically(env.draft / "from", f"{generation.number}\n")
        _note(env.draft, again)
        return Frozen(generation, changed=True)


def _note(draft: Path, index: snapshot.Index) -> None:
    """Note what a draft holds, whole or not at all: `seen` is of the same look, or there is none. Raises OSError."""
    (draft / _SEEN).unlink(missing_ok=True)
    snapshot.write_index(draft / "index", index)
    write_atomically(draft / _SEEN, f"{snapshot.fingerprint(index)}\n")


def _changed(env: EnvFolder) -> bool:
    """Return whether the draft differs from the generation that it is from.

    Every file is looked at, and none is read: size, time of change and inode tell. Compared is a digest of these facts,
    which is faster than the index itself.
    """
    try:
        seen = (env.draft / _SEEN).read_text(encoding="ascii").strip()
    except OSError:
        seen = ""
    if not seen.startswith(snapshot.FINGERPRINT):
        # There is none, or an earlier release has made it in another way.
        return snapshot.differs(snapshot.scan(prefix_of(env)), snapshot.read_index(env.draft / "index"))
    # Tens of thousands of tuples without cycles.
    with without_gc():
        return seen != snapshot.look(prefix_of(env))


def changed(env: EnvFolder) -> bool:
    """Return whether there is a draft that `freeze` would make a generation of. Raises Damaged, OSError."""
    try:
        before = env.generation(_check_open(env))
    except Missing:
        return False
    return not before.complete or _changed(env)


def _check_open(env: EnvFolder) -> int:
    """Return the number of the generation that the draft is from. Raises Missing."""
    try:
        return int((env.draft / "from").read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        raise Missing(f"draft: {env.name} has none; `haienv draft {env.name}` opens one") from None


def _snapshot(
    env: EnvFolder, generation: Generation, before: Generation, known: snapshot.Index
) -> tuple[specs.Spec, Manifest, snapshot.Index]:
    prefix = prefix_of(env)
    found = snapshot.scan(prefix)
    snapshot.link_tree(prefix, generation.prefix)
    if snapshot.differs(found, snapshot.scan(prefix)):
        raise BuildFailed(
            f"draft: that of {env.name} was changed while it was frozen; wait until pip or uv has ended, and freeze"
            " it again"
        )
    tree.without_locks(generation.prefix)
    pins = installed.packages(prefix)
    text = _lock(before.lock, pins)
    generation.lock.write_text(text, encoding="utf-8")
    spec = _spec(specs.read(env.spec), lockfile.read(before.lock), pins)
    generation.log.write_text(f"frozen from the draft of {env.name}@{before.number}\n", encoding="utf-8")
    old = manifests.read(before.manifest)
    if spec.kernel:
        kernels.write(generation, env.name, dict(spec.variables), old.python)
    tree.seal(generation.prefix)
    # Of the generation, and after it was sealed: what is recorded is what lies there.
    found = snapshot.filled(generation.prefix, snapshot.scan(generation.prefix), known)
    contents = snapshot.contents_of(found)
    versions = {name: one.version for name, one in pins.items()}
    made = replace(
        old,
        generation=generation.number,
        digest=contents.digest,
        files=contents.files,
        size=contents.size,
        lock=f"sha256:{hashlib.sha256(text.encode()).hexdigest()}",
        glibc=abi.glibc(generation.prefix, abi.of_python(old.interpreter)),
        cuda=abi.cuda(generation.prefix, versions),
        requirements=spec.requirements,
        built_by=getpass.getuser(),
        built_at=moment(),
        kernel=spec.kernel,
        variables=dict(spec.variables),
    )
    return spec, made, found


def _lock(before: Path, pins: dict[str, installed.Package]) -> str:
    """Return the lock of what is installed. Packages of the generation before keep their hashes."""
    known = lockfile.blocks(before.read_text(encoding="utf-8"))
    lines = [
        "# Frozen from a draft. A package without a hash was installed there; the manifest's digest covers its files.\n"
    ]
    for name, one in sorted(pins.items()):
        pin = f"{name}=={one.version}"
        block = known.get(name, "")
        lines.append(block if lockfile.packages(block) == {name: one.version} else f"{pin}\n")
    return "".join(lines)


def _spec(spec: specs.Spec, before: dict[str, str], pins: dict[str, installed.Package]) -> specs.Spec:
    """Return what is asked for now: what was added or changed by name is pinned, what was removed is left out."""
    changed = [
        one.requirement(name)
        for name, one in sorted(pins.items())
        if one.requested and before.get(name) != one.version and name not in ("pip", "setuptools", "wheel")
    ]
    kept = tuple(one for one in spec.requirements if specs.key_of(one) in pins)
    return replace(spec, requirements=kept).adding(changed)
