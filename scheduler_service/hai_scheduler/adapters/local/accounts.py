"""The Unix accounts that ranks run as, and the folders that belong to them (`hai up --unix-users`).

The state folder stays closed. What a job may touch is beside it, in folders of the job's own account below others that
only let pass: `run/<task>/<run>/<rank>` for notices and reports, `checkpoints/<user>` for what tasks save.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from hai_client.rank.identity import Account, NoAccount, acting_as, closed_folder, find_account, lacking_rights
from hai_scheduler.adapters.local.records import write_whole

#: Of folders in which others have theirs: pass, and see nothing.
_PASS = 0o711


def users_folder(state_dir: Path) -> Path:
    """Where users' own folders are: beside the state folder, which nobody else may enter."""
    return state_dir.with_name(f"{state_dir.name}-users")


class Accounts:
    """Who runs as whom, and what is theirs. Raises OSError where files cannot be made."""

    def __init__(self, template: str, folder: Path) -> None:
        """See the module.

        Args:
            template: How accounts are named; `{username}` stands for the user.
            folder: Above all that belongs to users; from the root.
        """
        self._template = template
        self._folder = folder

    @classmethod
    def open(cls, template: str, folder: Path) -> Accounts:
        """Make the folders. Raises ValueError where this cannot work: the message says what is needed, and OSError."""
        lacking = lacking_rights()
        if lacking:
            raise ValueError(
                f"it needs the right to start processes of other users, and {', '.join(lacking)} is missing: start the "
                "platform as root, or without this setting"
            )
        made = cls(template, folder)
        for part in (folder, made.checkpoints, made._runs):
            part.mkdir(mode=_PASS, parents=True, exist_ok=True)
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
        """Above the folders for checkpoints, by user and task."""
        return self._folder / "checkpoints"

    @property
    def client(self) -> Path:
        """For what everybody may read: the client."""
        return self._folder / "client"

    @property
    def _runs(self) -> Path:
        return self._folder / "run"

    def of(self, user: str) -> Account:
        """The account of a user. Raises NoAccount."""
        if user in ("", ".", "..") or "/" in user:
            raise NoAccount(f"{user!r} is no name for a folder, so that this user can have no files of his own")
        return find_account(self._template, user)

    def prepare(self, user: str, account: Account, rank: Path, token: str) -> Path:
        """Make what belongs to the job of a rank that has not begun; the folder for its notices and reports.

        Args:
            user: Whose task it is.
            account: What its command runs as.
            rank: Task, run and rank as folders.
            token: The token of the run.
        """
        _give(self.checkpoints / user, account)
        own = self._runs / rank
        for part in (own.parent.parent, own.parent):
            part.mkdir(mode=_PASS, exist_ok=True)
            part.chmod(_PASS)
        # Of an earlier attempt: other processes of the account may have changed it.
        _remove(own)
        own.mkdir(mode=0o700)
        write_whole(own / "token", token)
        os.chown(own / "token", account.uid, account.gid)
        os.chown(own, account.uid, account.gid)
        return own

    def remove(self, run: Path) -> None:
        """Remove what belongs to the jobs of a run, named by task and run as folders; checkpoints stay."""
        place = self._runs / run
        for rank in place.iterdir() if place.is_dir() else ():
            _remove(rank)
        with contextlib.suppress(OSError):
            place.rmdir()
            place.parent.rmdir()


def _give(folder: Path, account: Account) -> None:
    """Make a folder of the account in one where only the platform may write; one that is somebody's stays as it is."""
    folder.mkdir(mode=0o700, exist_ok=True)
    # Also one that was made and not handed over: whoever did that may have been killed in between.
    if folder.lstat().st_uid == os.geteuid():
        os.chown(folder, account.uid, account.gid)


def _remove(folder: Path) -> None:
    """Remove a folder that belongs to an account, and nothing that a link in it leads to."""
    try:
        owner = folder.lstat()
    except FileNotFoundError:
        return
    if os.geteuid() == 0:
        # It follows no link, and no rights that a job has taken away stand in its way.
        shutil.rmtree(folder)
        return
    with acting_as(Account(name="", uid=owner.st_uid, gid=owner.st_gid, groups=[], home="/", shell="")):
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    folder.rmdir()
