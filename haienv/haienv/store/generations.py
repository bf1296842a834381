"""Changes of an environment's folder: one process at a time, and whole or not at all.

A publication is three steps: a note of the number, `env.toml`, and the rename of `current`. A process that dies between
them leaves the note; the next one that changes the environment takes the publication back, or completes its last step.
"""

from __future__ import annotations

import contextlib
import getpass
import grp
import itertools
import os
import time
from pathlib import Path
from typing import Callable, Iterator

from haienv.shared import locking, space
from haienv.shared.errors import Missing, Wrong
from haienv.shared.files import link_atomically, write_atomically
from haienv.shared.unfollowed import remove_tree
from haienv.store import kernels
from haienv.store import manifest as manifests
from haienv.store.layout import EnvFolder, Generation, folder_of
from haienv.store.manifest import Manifest
from haienv.store.names import BASE, GROUPS

#: The first letters of folders that are being removed or made. No environment has such a name.
REMOVED, STAGED = ".removed-", ".staged-"
#: A folder that is being made or removed is left alone for this long after it was made or renamed, seconds.
LEFT_S = 3600.0
_counter = itertools.count()


@contextlib.contextmanager
def changing(
    env: EnvFolder,
    what: str,
    *,
    say: Callable[[str], None],
    wait_s: float | None = None,
    new: bool = False,
    writes: tuple[str, ...] = (),
) -> Iterator[None]:
    """Hold the right to change an environment. What builds that died have left is removed first.

    Args:
        env: The environment.
        what: The verb and its arguments, for those who wait.
        say: Called with a sentence when there is something to wait for.
        wait_s: Longest wait for another process, seconds; None: no limit.
        new: Whether the environment may be new: its folder is made, and removed again if no generation comes.
        writes: Further folders that the change writes to.

    Raises:
        Busy: Another process changes it.
        Missing: It is gone, and `new` is false.
        DiskFull: A disk got full, and nothing has changed.
    """
    with contextlib.ExitStack() as held:
        held.enter_context(space.watched(what, str(env.folder), *writes))
        while True:
            if new:
                make_folder(env)
            elif not env.folder.is_dir():
                raise Missing(f"environment: there is no {env.name}; `haienv list` shows what there is")
            try:
                held.enter_context(
                    locking.building(env.build_lock, what, user=getpass.getuser(), wait_s=wait_s, say=say)
                )
                break
            except locking.Replaced:
                # The process that we waited for has removed or renamed the environment.
                continue
            except FileNotFoundError:
                if not new:
                    raise Missing(f"environment: {env.name} has just been removed or renamed") from None
        try:
            recover(env)
            yield
        except BaseException:
            # While we hold the lock: nobody else can have begun a build here.
            if new and not env.generations():
                discard(env.folder)
            raise


def make_folder(env: EnvFolder) -> None:
    """Make the folder of an environment that only its owner can read, or its group, or all. Raises OSError, Wrong."""
    place = folder_of(env.root, env.name.owner)
    try:
        place.mkdir(parents=True, exist_ok=True)
        # A group's environments are for its members; a user's are private until they are shared; base ones are for all.
        level = env.name.owner.level
        mode = 0o755 if level == BASE else 0o750 if level == GROUPS else 0o700
        with contextlib.suppress(FileExistsError):
            os.mkdir(env.folder, mode)
            # mkdir heeds the umask.
            os.chmod(env.folder, mode)
            if level == GROUPS:
                _give_to_group(env.folder, env.name.owner.name)
        env.generations_folder.mkdir(exist_ok=True)
    except PermissionError as error:
        raise Wrong(
            f"environment: you may not make {env.name}: no right to write {error.filename}; an admin makes the"
            " folder by `haienv init`, or set HAIENV_ROOT to a folder of your own"
        ) from None


def _give_to_group(folder: Path, name: str) -> None:
    """Give a folder to the Unix group of that name, where there is one and we are in it."""
    with contextlib.suppress(KeyError, PermissionError):
        os.chown(folder, -1, grp.getgrnam(name).gr_gid)


def recover(env: EnvFolder) -> None:
    """Remove what builds that died have left. Only the holder of the lock may do this. Raises OSError."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        number = int(env.publishing.read_text(encoding="ascii"))
        current = env.current()
        if current is None or current.number != number:
            # First what gives space back: the disk may be full.
            remove_tree(env.generation(number).folder)
            _take_back(env, None if current is None else current.spec)
        else:
            kernels.offer(env)
    env.publishing.unlink(missing_ok=True)
    for one in env.begun():
        if not one.complete:
            if one.hidden_manifest.exists():
                # A removal died before it was certain that nothing uses it.
                os.rename(one.hidden_manifest, one.manifest)
            else:
                remove_tree(one.folder)
    for name in os.listdir(env.folder):
        if name.startswith((REMOVED, STAGED)):
            remove_tree(env.folder / name)


def _take_back(env: EnvFolder, spec: Path | None) -> None:
    """Make `env.toml` that of a generation again (None: there was none). Writes nothing where nothing has changed."""
    if spec is None:
        env.spec.unlink(missing_ok=True)
        return
    text = spec.read_text(encoding="utf-8")
    if not env.spec.is_file() or env.spec.read_text(encoding="utf-8") != text:
        write_atomically(env.spec, text)


def next_number(env: EnvFolder) -> int:
    """Return a number that no generation of the environment has ever had, and note it. Raises OSError."""
    path = env.folder / "last"
    try:
        last = int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        last = 0
    number = max([last, *(one.number for one in env.begun())]) + 1
    write_atomically(path, f"{number}\n")
    return number


def commit(env: EnvFolder, generation: Generation, made: Manifest, spec: str) -> None:
    """Complete a generation whose files are all there, and make it the current one.

    Args:
        env: The environment; the caller holds its lock.
        generation: The generation.
        made: Its manifest.
        spec: The text of env.toml, of the generation and of the environment.

    Raises:
        OSError: The generation is not current.
    """
    write_atomically(generation.spec, spec)
    write_atomically(env.publishing, f"{generation.number}\n")
    try:
        made.write(generation.manifest)
        write_atomically(env.spec, spec)
        publish(env, generation)
        env.publishing.unlink()
    except BaseException:
        recover(env)
        raise


def publish(env: EnvFolder, generation: Generation) -> None:
    """Make a complete generation the current one, and offer its kernel. Raises OSError."""
    link_current(env, generation.number)
    kernels.offer(env)


def link_current(env: EnvFolder, number: int) -> None:
    """Let `current` name a generation, by one rename. Raises OSError."""
    link_atomically(env.current_link, os.path.join("generations", str(number)))


def manifest_or_none(env: EnvFolder) -> Manifest | None:
    """Return the manifest of the current generation; None: there is no generation. Raises Damaged."""
    current = env.current()
    try:
        return None if current is None else manifests.read(current.manifest)
    except FileNotFoundError:
        return None


def sweep(folder: Path) -> list[str]:
    """Remove what renames and removals that died have left in the folder of an owner; return its names. Raises OSError.

    What is younger than an hour may be in use by a process, here or on another machine.
    """
    found = []
    for name in sorted(os.listdir(folder)):
        if not name.startswith((REMOVED, STAGED)) or _made_lately(folder / name):
            continue
        remove_tree(folder / name)
        found.append(name)
    return found


def _made_lately(path: Path) -> bool:
    try:
        return time.time() - os.lstat(path).st_ctime < LEFT_S
    except FileNotFoundError:
        return True


def staged_in(folder: Path) -> Path:
    """Make a folder below another one that nobody sees as complete, and return it. Raises OSError."""
    made = folder / f"{STAGED}{os.getpid()}-{next(_counter)}"
    made.mkdir(mode=0o700)
    return made


def discard(folder: Path) -> None:
    """Remove a folder of an environment: it is out of sight by one rename, whatever comes after. Raises OSError."""
    hidden = folder.with_name(f"{REMOVED}{folder.name}-{os.getpid()}-{next(_counter)}")
    os.rename(folder, hidden)
    remove_tree(hidden)
