"""Full disks: which file system is full, what was needed there, and what is free."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
from typing import Iterator

from haienv.shared.errors import DiskFull, NoSpace

_FULL = (errno.ENOSPC, errno.EDQUOT)
_QUOTA = re.compile(r"quota exceeded|os error 122", re.IGNORECASE)
_TEXT = re.compile(r"No space left on device|os error 28|" + _QUOTA.pattern, re.IGNORECASE)
#: A path in a message of uv.
_PATH = re.compile(r"`(/[^`]+)`")


def is_full(error: BaseException) -> bool:
    """Return whether an error says that a disk or a quota is full."""
    if isinstance(error, NoSpace):
        return True
    if isinstance(error, shutil.Error):
        # It has the errors of many files as texts.
        return _TEXT.search(str(error)) is not None
    return isinstance(error, OSError) and error.errno in _FULL


def says_full(text: str) -> bool:
    """Return whether a program's message says that a disk or a quota is full."""
    return _TEXT.search(text) is not None


@contextlib.contextmanager
def watched(what: str, *places: str, need: int | None = None) -> Iterator[None]:
    """Name the file system, what was needed and what is free, if a disk gets full meanwhile.

    Args:
        what: What is done: `install users/ann/vision`.
        places: The folders that it writes to; the first is the one of which the file system is named in doubt.
        need: How much it needs, bytes; None: it is not known.

    Raises:
        DiskFull: A disk got full.
    """
    free = {place: free_in(place) for place in places}
    try:
        yield
    except (OSError, NoSpace) as error:
        if not is_full(error):
            raise
        place = _place_of(error, places)
        system = _system(place)
        before = next((free[one] for one in places if _system(one) == system), None)
        raise DiskFull(_sentence(what, place, error, before, need)) from None


def check(what: str, place: str, need: int) -> None:
    """Raise DiskFull if there is not enough space for something of which the size is known.

    Args:
        what: What is done.
        place: The folder that it writes to.
        need: Its size, bytes.
    """
    free = free_in(place)
    if free < need:
        raise DiskFull(
            f"disk: {what} needs {quantity(need)}, and {_system(place)} has {quantity(free)} free: remove something"
            " there, or ask an admin for more space"
        )


def sentence(error: BaseException, place: str) -> str:
    """Return what to say of an error because of a full disk of which nothing else is known."""
    return _sentence("this", _place_of(error, (place,)), error, None, None)


def _sentence(what: str, place: str, error: BaseException, before: int | None, need: int | None) -> str:
    system = _system(place)
    now = quantity(free_in(place))
    if need is not None:
        needed = f"{what} needs {quantity(need)}, and {now} are free"
    elif before is None:
        needed = f"{what} needs more than the {now} that are free"
    else:
        needed = f"{what} needs more than the {quantity(before)} that were free when it began; now {now} are free"
    remedy = (
        "Nothing has changed. `haienv gc` removes old generations, `haienv remove NAME` an environment, `uv cache"
        " prune` what no environment uses; or ask an admin for more"
    )
    if getattr(error, "errno", None) == errno.EDQUOT or _QUOTA.search(str(error)):
        return f"disk: your quota of {system} is used up: {needed}. {remedy}"
    if _no_files(place):
        return f"disk: {system} can have no further files: {what} needs more inodes than it has. {remedy}"
    return f"disk: {system} is full: {needed}. {remedy}"


def _place_of(error: BaseException, places: tuple[str, ...]) -> str:
    """Return the folder whose file system is full: what the error names, else the one with the least space."""
    named = getattr(error, "filename", None)
    found = _PATH.search(str(error)) if isinstance(error, NoSpace) else None
    if isinstance(named, str):
        return named
    if found is not None:
        return found[1]
    return min(places, key=lambda one: 0 if _no_files(one) else free_in(one))


def free_in(place: str) -> int:
    """Return how much this account can still write below a folder, which may not be there yet; bytes."""
    facts = _facts(place)
    return facts.f_bavail * facts.f_frsize


def _no_files(place: str) -> bool:
    facts = _facts(place)
    # Some file systems make inodes as they need them, and say that they have none.
    return facts.f_files > 0 and facts.f_favail == 0


def _facts(place: str) -> os.statvfs_result:
    return os.statvfs(_there(place))


def _there(place: str) -> str:
    """Return the innermost folder above that exists."""
    found = os.path.abspath(place)
    while not os.path.exists(found) and found != "/":
        found = os.path.dirname(found)
    return found


def _system(place: str) -> str:
    """Return the file system of a folder in words: `the file system /shared (ext4)`."""
    there = os.path.realpath(_there(place))
    best, kind = "/", ""
    with contextlib.suppress(OSError), open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            words, _, rest = line.partition(" - ")
            # Blanks in paths are written as octal numbers.
            mount = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), words.split()[4])
            inside = there == mount or there.startswith(mount.rstrip("/") + "/")
            # Of two mounts at one place the later one is seen.
            if inside and len(mount) >= len(best):
                best, kind = mount, rest.split()[0]
    return f"the file system {best}" + (f" ({kind})" if kind else "")


def quantity(size: int) -> str:
    """Return a number of bytes for people."""
    amount, units = float(size), ["B", "kB", "MB", "GB", "TB"]
    while amount >= 1000 and len(units) > 1:
        amount, units = amount / 1000, units[1:]
    return f"{amount:.0f} {units[0]}" if units[0] == "B" or amount >= 10 else f"{amount:.1f} {units[0]}"
