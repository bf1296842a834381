"""Compiled Python (`__pycache__`) of an environment, made at build time: nobody can write it where others read it.

Without it, every start of every rank would compile torch again. A compiled file depends on its source alone, so each is
made once for a builder and linked into further environments. It is Python's usual kind, which names the size and the
time of its source: Python ignores it when the source is another one.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from haienv.building.remembered import File
from haienv.shared.beside import Beside
from haienv.shared.tree import COMPILED

FOLDER = "compiled"
#: What the name of a file ends with that says that a source cannot be compiled.
_NONE = ".none"
#: Longest time that a process of ours compiles, seconds.
LIMIT_S = 1800.0
_WORKERS = os.cpu_count() or 1
#: Fewer files than this are not worth another process.
_SHARE = 50
#: It runs in the environment's Python, 3.8 or newer, without its packages (-S), and executes none of what it compiles.
_WORKER = """
import os, py_compile, sys
mode = py_compile.PycInvalidationMode.TIMESTAMP
for line in sys.stdin.buffer.read().split(b"\\n"):
    if line:
        source, target, shown = (os.fsdecode(one) for one in line.split(b"\\0"))
        try:
            py_compile.compile(source, target, dfile=shown, doraise=True, invalidation_mode=mode)
        except py_compile.PyCompileError:
            # Some packages have files that are for other versions of Python, or samples of errors.
            open(target + ".none", "wb").close()
        except OSError as error:
            if error.errno in (28, 122):
                # No space, or no quota: the build fails, as no later start could write the file either.
                sys.exit(error.errno)
        except Exception:
            pass
"""


class _Unit(NamedTuple):
    source: str
    stored: str  #: In the store, and in the environment.
    target: str
    shown: str


def compile_all(top: Path, python: Path, tag: str, files: Iterable[File], store: Path) -> int:
    """Compile the Python files of an environment, those that no environment of the builder has had before.

    Args:
        top: The environment.
        python: Its program of Python.
        tag: What names of compiled files have: `cpython-311`.
        files: The files of the environment, with their digests.
        store: The builder's folder of compiled files.

    Returns:
        The number of files that were compiled.

    Raises:
        OSError: A file cannot be written.
    """
    base, kept = str(top), f"{store}/{FOLDER}/{tag}"
    units = [_unit(base, tag, one, kept) for one in files if one.path.endswith(".py") and one.kind != "l"]
    for folder in {one.target.rpartition("/")[0] for one in units}:
        with suppress(FileExistsError):
            os.mkdir(folder, 0o755)
    missing = _all_placed(units)
    # Files with the same content are compiled once, and those that cannot be are tried once.
    once = {one.stored: one for one in missing if not os.path.exists(one.stored + _NONE)}
    _compile(python, list(once.values()))
    for one in missing:
        _placed(one)
    return len(once)


def _unit(top: str, tag: str, one: File, store: str) -> _Unit:
    folder, slash, name = one.path.rpartition("/")
    key = f"{one.content}-{one.facts[3] // 10**9}"
    target = f"{top}/{folder}{slash}{COMPILED}/{name[:-3]}.{tag}.pyc"
    # Python puts the real path in place of the name when it loads the file.
    return _Unit(f"{top}/{one.path}", f"{store}/{key[:2]}/{key}.pyc", target, name)


def _all_placed(units: list[_Unit]) -> list[_Unit]:
    """Put compiled files of the store into the environment, in two threads; return those that the store lacks."""
    half = len(units) // 2 if len(units) >= _SHARE else 0
    # The kernel takes ten microseconds for a link, in which Python is free for another one.
    other = Beside(lambda: [one for one in units[:half] if not _placed(one)])
    try:
        missing = [one for one in units[half:] if not _placed(one)]
    finally:
        found = other.result()
    return found + missing


def _placed(one: _Unit) -> bool:
    """Put a compiled file of the store into the environment; return whether the store has it."""
    try:
        os.link(one.stored, one.target)
    except FileExistsError:
        return True
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP):
            raise
        shutil.copy2(one.stored, one.target)
        if error.errno == errno.EMLINK:
            # The next environments link to a new file.
            fresh = f"{one.stored}.{os.getpid()}"
            shutil.copy2(one.stored, fresh)
            os.replace(fresh, one.stored)
    return True


def _compile(python: Path, units: list[_Unit]) -> None:
    for folder in {os.path.dirname(one.stored) for one in units}:
        os.makedirs(folder, 0o700, exist_ok=True)
    workers = max(1, min(_WORKERS, len(units) // _SHARE))
    processes = []
    try:
        for at in range(workers if units else 0):
            process = subprocess.Popen(
                [str(python), "-I", "-S", "-c", _WORKER],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            processes.append(process)
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                lines = ("\0".join((one.source, one.stored, one.shown)) for one in units[at::workers])
                process.stdin.write(os.fsencode("\n".join(lines)))
            with suppress(BrokenPipeError):
                process.stdin.close()
        for process in processes:
            status = process.wait(LIMIT_S)
            if status in (errno.ENOSPC, errno.EDQUOT):
                raise OSError(status, os.strerror(status), os.path.dirname(units[0].stored))
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    for one in units:
        with suppress(FileNotFoundError):
            os.chmod(one.stored, 0o444)
