"""The secrets of a rank: read from its folder, given to its command alone, and gone with it.

Variables are set for the command and for no process of the platform. Files are in a folder in memory that their account
alone may read, and a link leads there from each path that the user has named. A home folder may be shared by many
machines, so a link is made again while the rank runs if another rank has taken it away.
"""
# ruff: noqa: PTH100, PTH102, PTH103, PTH105, PTH106, PTH108, PTH112, PTH118, PTH119, PTH120, PTH123, PTH208, PTH211
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import errno
import os

from hai_client.linux.identity import acting_as
from hai_client.rank.starting.command import NOT_EXECUTABLE, CannotStart
from hai_client.rank.starting.spec import RUN_DIR, BadSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hai_client.linux.identity import Account
    from hai_client.rank.starting.spec import Spec

#: The file with the secrets, in the folder of `spec.json`.
FILE = "secrets.json"
SCHEMA = 1
#: The file system in memory that every Linux has; each pod has one of its own.
MEMORY = "/dev/shm"  # noqa: S108  a folder of its own is made in it, for one account
#: How folders of secrets are called.
PREFIX = "hai-secrets-"
#: The folder in a pod: the same in all, so that a link in a home that they share leads to each one's own file.
OF_POD = f"{MEMORY}/{PREFIX}rank"


class RankSecrets:
    """The secrets of one rank. `values` are all of them, by name, for those who keep them out of logs."""

    def __init__(self, items: list[dict[str, Any]], file: str | None) -> None:
        """Take the items of the file `file`, which is removed by `forget`. Raises BadSpec."""
        self._file = file
        self.values: dict[str, bytes] = {}
        self.variables: dict[str, str] = {}
        self._files: list[tuple[str, bytes]] = []
        #: Links by their paths, with their targets.
        self._links: dict[str, str] = {}
        self._folder: str | None = None
        try:
            for item in items:
                self._take(item)
        except (KeyError, TypeError, ValueError):
            # The error itself might quote a value.
            raise BadSpec(f"{FILE} cannot be read; the task is started again in a new run") from None

    def _take(self, item: dict[str, Any]) -> None:
        from binascii import a2b_base64

        value = a2b_base64(item["value"])
        self.values[str(item["name"])] = value
        if item.get("variable"):
            self.variables[str(item["variable"])] = value.decode()
        else:
            self._files.append((str(item["path"]), value))

    @classmethod
    def load(cls, folder: str, spec: Spec) -> RankSecrets:
        """Read the secrets beside a `spec.json`, if it says that there are some. Raises BadSpec."""
        if not spec.has_secrets:
            return cls([], None)
        import json

        path = os.path.join(folder, FILE)
        try:
            with open(path, encoding="ascii") as file:
                data = json.load(file)
            if data["schema"] != SCHEMA:
                raise ValueError("schema")
            items = list(data["secrets"])
        except (OSError, KeyError, TypeError, ValueError):
            raise BadSpec(f"{FILE} is missing or cannot be read; the task is started again in a new run") from None
        return cls(items, path)

    def forget(self) -> None:
        """Remove the file that they came in: nothing of them is on a disk any more. A mounted one stays."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._file)

    def begin(self, env: dict[str, str], folder: str, account: Account | None) -> None:
        """Put the variables into the command's, and make the files and their links.

        Args:
            env: The variables of the command.
            folder: The folder for the files, which this makes.
            account: The Unix account of the command; None: that of this process.

        Raises:
            CannotStart: A file cannot be made; with a sentence for the user.
        """
        env.update(self.variables)
        if not self._files:
            return
        try:
            with acting_as(account):
                owner = os.geteuid() if account is None else account.uid
                self._make_files(env.get("HOME") or "/", folder, owner)
        except OSError as error:
            where = f" {error.filename}" if error.filename else ""
            raise CannotStart(
                f"a file of the task's secrets cannot be made:{where}: {error.strerror}; correct its path",
                NOT_EXECUTABLE,
            ) from None

    def _make_files(self, home: str, folder: str, owner: int) -> None:
        _make_own(folder, owner)
        self._folder = folder
        for number, (path, value) in enumerate(self._files):
            link = os.path.join(home, path[2:]) if path.startswith("~/") else path
            target = os.path.join(folder, _name_of(link))
            fd = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o400)
            with os.fdopen(fd, "wb") as file:
                file.write(value)
            os.makedirs(os.path.dirname(link), mode=0o700, exist_ok=True)
            self._links[link] = target
            self._link(link, target, number)

    def _link(self, link: str, target: str, number: int) -> None:
        """Make the link of a file, or leave one that leads to the same bytes. Raises OSError, CannotStart."""
        if not os.path.lexists(link):
            os.symlink(target, link)
            return
        if not _is_ours(link):
            raise CannotStart(
                f"there is a file {link} already, and the platform does not replace it by a secret; remove it, or name "
                "another path",
                NOT_EXECUTABLE,
            )
        there = _content_of(link)
        if there is None:
            # It was left by a rank that is gone.
            draft = f"{link}.{PREFIX}{os.getpid()}-{number}"
            os.symlink(target, draft)
            os.replace(draft, link)
        elif there != self._files[number][1]:
            raise CannotStart(
                f"{link} is a secret of another task that runs here now, with another value; wait for its end, or name "
                "another path",
                NOT_EXECUTABLE,
            )

    def hold(self, account: Account | None) -> None:
        """Make links again that are gone: a home folder is shared, and another rank that ended may have removed one."""
        if not self._links:
            return
        with acting_as(account):
            for link, target in self._links.items():
                if not os.path.lexists(link):
                    with contextlib.suppress(OSError):
                        os.symlink(target, link)

    def end(self, account: Account | None) -> None:
        """Remove the files, and the links that lead to them."""
        if self._folder is None:
            return
        with acting_as(account):
            for link, target in self._links.items():
                with contextlib.suppress(OSError):
                    if os.readlink(link) == target:
                        os.unlink(link)
            remove_folder(self._folder)


def folder_of(rank_folder: str) -> str:
    """Return the folder for the files of a rank: in memory, if there is that."""
    if rank_folder == RUN_DIR:
        return OF_POD
    from hashlib import sha256

    name = PREFIX + sha256(os.path.abspath(rank_folder).encode()).hexdigest()[:24]
    return os.path.join(MEMORY if os.path.isdir(MEMORY) else rank_folder, name)


def remove_folder(folder: str) -> None:
    """Remove a folder of files of secrets; what cannot be removed is left. It follows no link."""
    with contextlib.suppress(OSError):
        _empty(folder)
        os.rmdir(folder)


def _empty(folder: str, owner: int | None = None) -> None:
    """Remove what is in a folder, and close it to other accounts if its owner is given. Raises OSError."""
    # Its account may have put a link in its place.
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if owner is not None:
            if os.fstat(fd).st_uid != owner:
                raise PermissionError(errno.EPERM, "it belongs to another account", folder)
            os.fchmod(fd, 0o700)
        for name in os.listdir(fd):
            with contextlib.suppress(IsADirectoryError):
                os.unlink(name, dir_fd=fd)
    finally:
        os.close(fd)


def _make_own(folder: str, owner: int) -> None:
    """Make a folder that this account alone may enter; one that is left from before is emptied. Raises OSError."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    _empty(folder, owner)


def _name_of(link: str) -> str:
    """Return the name of a file in memory. It follows from the path alone: links of all pods lead to the same path."""
    from hashlib import sha256

    return f"{sha256(link.encode()).hexdigest()[:12]}-{os.path.basename(link)[-100:]}"


def _is_ours(link: str) -> bool:
    try:
        target = os.readlink(link)
    except OSError:
        return False
    folder = os.path.dirname(target)
    return os.path.basename(folder).startswith(PREFIX) and os.path.basename(target) == _name_of(link)


def _content_of(link: str) -> bytes | None:
    """Return what a link leads to; None: nothing that could be read."""
    try:
        with open(link, "rb") as file:
            return file.read()
    except OSError:
        return None
