"""One file that has a generation: `export` writes it, `import` makes a generation of it, here or on another machine.

It is a tar archive: `haienv.json` (manifest, and digest of the files), `requirements.lock`, `env.toml`, then
`prefix/...` without compiled Python. What names this machine is left out: the links to the interpreter and
`pyvenv.cfg`. They are made by uv where the archive is read, for the same version of Python. Nothing of an archive is
started or evaluated when it is read, and nothing is written outside of the new generation.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import stat
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from haienv.building import abi, interpreters
from haienv.building.facts import facts_of, uv_for
from haienv.shared import snapshot, space, tree
from haienv.shared.errors import Damaged, Wrong
from haienv.shared.masking import quoted
from haienv.shared.unfollowed import remove_tree
from haienv.store import kernels, lockfile
from haienv.store import manifest as manifests
from haienv.store import spec as specs
from haienv.store.generations import changing, commit, next_number
from haienv.store.layout import EnvFolder, Generation
from haienv.store.manifest import Manifest

SCHEMA = 1
HEAD = "haienv.json"
_MAX_TEXT = 16 * 1024 * 1024
_PREFIX = "prefix/"
#: What names the machine, and is made where the archive is read.
_OF_MACHINE = re.compile(r"pyvenv\.cfg|bin/python[0-9.]*|lib64|\.lock")
_WRITING = {".tar": "w", ".gz": "w:gz", ".tgz": "w:gz", ".xz": "w:xz"}


@dataclass(frozen=True)
class Exported:
    """An archive."""

    file: str
    contents: str  #: The digest of the files in it: `haienv import --digest` checks it.
    files: int
    size: int  #: Its size, bytes.


def export(generation: Generation, to: Path) -> Exported:
    """Write a generation into an archive; `.gz` and `.xz` are compressed. It is there whole or not at all.

    Raises:
        Wrong: The file exists, or its name does not end in .tar, .tar.gz, .tgz or .tar.xz.
        Damaged: The files differ from the manifest.
        OSError: It could not be written.
    """
    if to.suffix not in _WRITING:
        raise Wrong(f"file: {str(to)!r} has none of the endings .tar, .tar.gz, .tgz, .tar.xz: choose one")
    if os.path.lexists(to):
        raise Wrong(f"file: {str(to)!r} exists; choose another one, or remove it")
    lockfile.refuse_conda(generation.lock, "export")
    manifest = manifests.read(generation.manifest)
    whole = snapshot.filled(generation.prefix, snapshot.scan(generation.prefix), {})
    if snapshot.contents_of(whole).digest != manifest.digest:
        raise Damaged(
            f"{manifest.name}@{generation.number}: its files differ from its manifest, and are not exported;"
            f" `haienv rebuild {manifest.name}` makes a new generation"
        )
    index = {path: one for path, one in whole.items() if not _OF_MACHINE.fullmatch(path)}
    contents = snapshot.contents_of(index)
    head = {"schema": SCHEMA, "contents": contents.digest, "manifest": asdict(manifest)}
    draft = to.with_name(f".{to.name}.{os.getpid()}")
    with contextlib.ExitStack() as until:
        until.callback(draft.unlink, missing_ok=True)
        until.enter_context(space.watched(f"export {manifest.name}@{generation.number}", str(to.parent)))
        # More compression takes many times as long for a few percent.
        options: dict[str, Any] = {"compresslevel": 1} if _WRITING[to.suffix] == "w:gz" else {}
        opened: Any = tarfile.open
        with opened(draft, _WRITING[to.suffix], format=tarfile.PAX_FORMAT, **options) as archive:
            _add_text(archive, HEAD, json.dumps(head, indent=1) + "\n")
            _add_text(archive, "requirements.lock", generation.lock.read_text(encoding="utf-8"))
            _add_text(archive, "env.toml", generation.spec.read_text(encoding="utf-8"))
            for path in sorted(index):
                # Each file stands for itself: an archive has no hard links.
                archive.inodes.clear()
                archive.add(generation.prefix / path, f"{_PREFIX}{path}", recursive=False, filter=_nobodys)
        os.rename(draft, to)
    return Exported(str(to), contents.digest, contents.files, to.stat().st_size)


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode("utf-8")
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o644
    archive.addfile(member, io.BytesIO(data))


def _nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out who owns a file, and let the same environment make the same archive."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.mode & stat.S_IXUSR else 0o644
    return member


@dataclass(frozen=True, kw_only=True)
class Importer:
    """Makes generations of archives.

    Args:
        environ: The variables of the caller.
        show: Called with each line of progress.
    """

    environ: Mapping[str, str]
    show: Callable[[str], None]

    def make(self, env: EnvFolder, file: Path, *, digest: str | None) -> Generation:
        """Make an environment of an archive. It is there whole or not at all.

        Args:
            env: The environment, which must be new.
            file: The archive.
            digest: What `export` has said; None: the archive's own word is believed.

        Raises:
            Wrong: The environment exists, or the file is no archive of an environment.
            Damaged: The files differ from the digest.
            BuildFailed: There is no such Python here.
        """
        with changing(env, f"import {env.name}", say=self.show, new=True):
            if env.current() is not None:
                raise Wrong(f"environment: {env.name} exists; choose another name")
            generation = env.generation(next_number(env))
            generation.folder.mkdir()
            try:
                manifest = self._unpack(env, generation, file, digest)
                commit(env, generation, manifest, generation.spec.read_text(encoding="utf-8"))
            except BaseException:
                if env.current() is None:
                    remove_tree(generation.folder)
                raise
            return generation

    def _unpack(self, env: EnvFolder, generation: Generation, file: Path, digest: str | None) -> Manifest:
        try:
            with file.open("rb") as opened, tarfile.open(fileobj=opened, mode="r:*") as archive:
                members = iter(archive)
                head = _head(archive, members)
                if digest is not None and head.contents != digest:
                    raise Damaged(f"file: {str(file)!r} has {head.contents}, not {quoted(digest)}: it is another one")
                self._make_python(env, generation, head.manifest)
                _write_members(archive, members, generation, head)
        except (tarfile.TarError, EOFError, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise Wrong(f"file: {str(file)!r} is no archive of an environment: {error}") from None
        whole = snapshot.filled(generation.prefix, snapshot.scan(generation.prefix), {})
        found = {path: one for path, one in whole.items() if not _OF_MACHINE.fullmatch(path)}
        got = snapshot.contents_of(found).digest
        if got != head.contents:
            raise Damaged(f"file: {str(file)!r} has files that differ from its digest: {got}, not {head.contents}")
        _check_links(generation.prefix, found)
        spec = specs.read(generation.spec)
        if spec.kernel:
            kernels.write(generation, env.name, dict(spec.variables), head.manifest.python)
        tree.seal(generation.prefix)
        python = interpreters.read(generation)
        facts = facts_of(python)
        contents = tree.contents(generation.prefix)
        return replace(
            head.manifest, name=str(env.name), generation=generation.number, digest=contents.digest,
            files=contents.files, size=contents.size, kernel=spec.kernel, variables=dict(spec.variables),
            **asdict(facts),
            glibc=abi.glibc(generation.prefix, abi.of_python(python.program)),
        )  # fmt: skip

    def _make_python(self, env: EnvFolder, generation: Generation, manifest: Manifest) -> None:
        """Make the links to an interpreter of the version that the archive needs, and nothing else."""
        version = ".".join(manifest.python.split(".")[:2])
        uv = uv_for(env.root, generation, self.environ, self.show)
        uv.run(
            ["venv", "--quiet", "--relocatable", "--python", version, str(generation.prefix)],
            doing=f"find a Python {version}, which this environment needs",
        )
        if os.uname().machine != manifest.machine:
            raise Wrong(
                f"file: it is for {manifest.machine}, and this machine is {os.uname().machine}; build {env.name}"
                " here from its"
                " requirements.lock"
            )
        for path in snapshot.scan(generation.prefix):
            if not _OF_MACHINE.fullmatch(path):
                (generation.prefix / path).unlink()


@dataclass(frozen=True)
class _Head:
    contents: str
    manifest: Manifest


def _head(archive: tarfile.TarFile, members: Iterator[tarfile.TarInfo]) -> _Head:
    first = next(members, None)
    if first is None or first.name != HEAD:
        raise Wrong(f"file: it is no archive of an environment: {HEAD} is not its first member")
    try:
        data = json.loads(_text(archive, first))
        if data["schema"] != SCHEMA:
            raise Wrong(f"file: is of version {data['schema']!r}, not {SCHEMA}: use a newer haienv")
        return _Head(str(data["contents"]), manifests.parsed({"schema": manifests.SCHEMA, **data["manifest"]}, HEAD))
    except (ValueError, KeyError, TypeError):
        raise Wrong(f"file: {HEAD} in it cannot be read: it is no archive that `haienv export` has written") from None


def _write_members(
    archive: tarfile.TarFile, members: Iterator[tarfile.TarInfo], generation: Generation, head: _Head
) -> None:
    texts = {"requirements.lock": generation.lock, "env.toml": generation.spec}
    files = size = 0
    for member in members:
        if member.name in texts:
            texts.pop(member.name).write_text(_text(archive, member), encoding="utf-8")
            continue
        files, size = files + 1, size + member.size
        if files > head.manifest.files or size > head.manifest.size:
            raise Wrong("file: it has more files or bytes than its manifest says: it is not unpacked")
        _write(archive, member, generation.prefix)
    if texts:
        raise Wrong(f"file: {min(texts)} is missing in it")


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, prefix: Path) -> None:
    """Write one member below the prefix, which has no links to folders but those that were checked. Raises Wrong."""
    path = _path(member.name)
    place = prefix.joinpath(*path.parts)
    place.parent.mkdir(parents=True, exist_ok=True)
    if os.path.realpath(place.parent) != os.path.join(os.path.realpath(prefix), *path.parts[:-1]):
        raise Wrong(f"file: {quoted(member.name, 200)} in it goes through a link; it is not unpacked")
    if os.path.lexists(place):
        raise Wrong(f"file: {quoted(member.name, 200)} is in it twice; it is not unpacked")
    if member.issym():
        _check_link(path, member.linkname)
        os.symlink(member.linkname, place)
    elif member.isreg():
        source = archive.extractfile(member)
        assert source is not None
        _copy(source, place, 0o755 if member.mode & stat.S_IXUSR else 0o644)
    else:
        raise Wrong(f"file: {quoted(member.name, 200)} in it is neither file nor symbolic link; it is not unpacked")


def _copy(source: Any, place: Path, mode: int) -> None:
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "wb") as file:
        to: BinaryIO = file
        while data := source.read(1024 * 1024):
            to.write(data)


def _path(name: str) -> PurePosixPath:
    """Return the path of a member below the prefix. Raises Wrong."""
    path = PurePosixPath(name)
    below = name[len(_PREFIX) :]
    odd = path.is_absolute() or ".." in path.parts or str(path) != name or "\0" in name
    if odd or not name.startswith(_PREFIX) or _OF_MACHINE.fullmatch(below):
        raise Wrong(f"file: {quoted(name, 200)} in it is no path of a file of an environment; it is not unpacked")
    return PurePosixPath(below)


def _check_link(path: PurePosixPath, target: str) -> None:
    """Refuse a symbolic link that leads out of the prefix."""
    inside = os.path.normpath(os.path.join("/", *path.parts[:-1], target)) if not target.startswith("/") else ""
    depth = 0
    for part in PurePosixPath(*path.parts[:-1], target).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            inside = ""
    if not inside or not target or "\0" in target:
        raise Wrong(
            f"file: the link {str(path)!r} in it leads to {quoted(target, 200)}, out of the environment; it is not"
            " unpacked"
        )


def _check_links(prefix: Path, index: snapshot.Index) -> None:
    """Refuse links that lead out through other links. Nothing was written through them."""
    inside = os.path.realpath(prefix) + os.sep
    for path, entry in index.items():
        if entry.kind == "l" and not os.path.realpath(prefix / path).startswith(inside):
            raise Wrong(f"file: the link {quoted(path, 200)} in it leads out of the environment; it is not unpacked")


def _text(archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    source = archive.extractfile(member) if member.isreg() else None
    if source is None or member.size > _MAX_TEXT:
        raise Wrong(f"file: {quoted(member.name, 200)} in it is no text of at most {_MAX_TEXT} bytes")
    return source.read().decode("utf-8")
