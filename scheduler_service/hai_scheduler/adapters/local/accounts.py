"""The Unix accounts that ranks run as, and the folders that belong to them (`hai up --unix-users`).

The state folder stays closed. Beside it are the folders that jobs may use, each owned by the job's account. The folders
above them can be passed but not listed: `run/<task>/<run>/<rank>` is for notices and reports, `checkpoints/<user>` for
checkpoints.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from hai_client.linux.identity import Account, NoAccount, acting_as, closed_folder, find_account, lacking_rights
from hai_client.linux.rights import make_folder
from hai_scheduler.adapters.local.records import write_whole
from haienv.shared.unfollowed import remove_tree

#: Mode of the folders above those of accounts: all users may pass, only the platform may list.
_PASS = 0o711


def users_folder(state_dir: Path) -> Path:
    """Return the folder above users' own folders: beside the state folder, which only the platform may enter."""
    return state_dir.with_name(f"{state_dir.name}-users")


class Accounts:
    """The Unix accounts of users, and their folders. Raises OSError where files cannot be created."""

    def __init__(self, template: str, folder: Path) -> None:
        """Create it without any folder; `open` creates the folders too.

        Args:
            template: How accounts are named; `{username}` stands for the user.
            folder: The folder above users' own folders; an absolute path.
        """
        self._template = template
        self._folder = folder

    @classmethod
    def open(cls, template: str, folder: Path) -> Accounts:
        """Create the folders. Raises ValueError if accounts cannot work here (the message says why), and OSError."""
        lacking = lacking_rights()
        if lacking:
            raise ValueError(
                f"it needs the right to start processes of other users, and {', '.join(lacking)} is missing: start the "
                "platform as root, or without this setting"
            )
        made = cls(template, folder)
        for part in (folder, made.checkpoints, made._runs):
            make_folder(part, _PASS)
            part.chmod(_PASS)
        closed = closed_folder(str(folder))
        if closed is not None:
            raise ValueError(
                f"{folder} is for the users' own files, and {closed} is closed to them: choose another --state-dir, "
                "for example /var/lib/hai"
            )
        return made

    @property
    def checkpoints(self) -> Path:
        """The folder above all folders for checkpoints, by user and task."""
        return self._folder / "checkpoints"

    @property
    def client(self) -> Path:
        """The folder for the client, which every account may read."""
        return self._folder / "client"

    @property
    def _runs(self) -> Path:
        return self._folder / "run"

    def of(self, user: str, account: str | None = None) -> Account:
        """Return the account of a user, or another one for a run of theirs. Raises NoAccount, for root's too.

        Args:
            user: The user.
            account: The name of the other account; None: the user's.
        """
        if user in ("", ".", "..") or "/" in user:
            raise NoAccount(f"{user!r} is no name for a folder, so this user can have no files of their own")
        return find_account(self._template if account is None else account, user)

    def prepare(self, user: str, account: Account, rank: Path, token: str) -> Path:
        """Create the folders of the job of a rank that has not begun. Returns the folder for its notices and reports.

        Args:
            user: The user of the task.
            account: The account that the command runs as.
            rank: The relative path `<task>/<run>/<rank>`.
            token: The token of the run.
        """
        _give(self.checkpoints / user, account)
        own = self._runs / rank
        for part in (own.parent.parent, own.parent):
            part.mkdir(mode=_PASS, exist_ok=True)
            part.chmod(_PASS)
        # It may be left from an earlier attempt, and other processes of the account may have changed it.
        _remove(own)
        own.mkdir(mode=0o700)
        write_whole(own / "token", token)
        os.chown(own / "token", account.uid, account.gid)
        os.chown(own, account.uid, account.gid)
        return own

    def remove(self, run: Path) -> None:
        """Remove the folders of a run's jobs, but not its checkpoints. `run` is the relative path `<task>/<run>`."""
        place = self._runs / run
        for rank in place.iterdir() if place.is_dir() else ():
            _remove(rank)
        with contextlib.suppress(OSError):
            place.rmdir()
            place.parent.rmdir()


def _give(folder: Path, account: Account) -> None:
    """Create a folder for the account, where only the platform may write; one with another owner stays as it is."""
    folder.mkdir(mode=0o700, exist_ok=True)
    # Also a folder that exists already but was not handed over: a process may have been killed in between.
    if folder.lstat().st_uid == os.geteuid():
        os.chown(folder, account.uid, account.gid)


def _remove(folder: Path) -> None:
    """Remove a folder of an account. Links in it are removed, their targets are not."""
    try:
        owner = folder.lstat()
    except FileNotFoundError:
        return
    if os.geteuid() == 0:
        remove_tree(folder)
        return
    with acting_as(Account(name="", uid=owner.st_uid, gid=owner.st_gid, groups=[], home="/", shell="")):
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                remove_tree(entry)
            else:
                entry.unlink()
    folder.rmdir()
