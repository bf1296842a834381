"""The state folder: the files that outlive `hai up`, and the lock that lets only one `hai up` use it at a time."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from hai_client.linux.rights import make_folder
from hai_client.whole_files import write_whole
from hai_hub.shared.errors import UpError, wrong_input
from hai_hub.shared.ownership import require_usable

#: Version of the folder's layout.
FORMAT: Final = 1
_SUBFOLDERS: Final = ("home", "hub", "logs", "secrets")
#: Letters and digits that do not look alike.
_LETTERS: Final = "abcdefghjkmnpqrstuvwxyz23456789"
_PASSWORD_LEAST: Final = 8
#: Name of the secret that is the password of the local user, who is the admin.
ADMIN_PASSWORD: Final = "admin_password"  # noqa: S105  # it is a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What `state.json` holds."""

    user: str | None = None  #: Name of the local user.
    hub_port: int | None = None  #: The Hub's port behind the proxy.
    local_port: int | None = None  #: The port for processes of this machine, where users have HTTPS on another one.
    service_port: int | None = None  #: The scheduler's port, kept over restarts because running tasks go on using it.
    paused_by_up: bool = False  #: Whether `hai up` paused the cluster when it stopped: the next start resumes it.
    hub_process: str | None = None  #: The Hub that was started last (`processes.identity`).
    service_process: str | None = None  #: The API that `hai up` started last, likewise.
    loop_process: str | None = None  #: The scheduling loop that `hai up` started last, likewise.
    version: str | None = None  #: The version of HAI that has used the folder last.


class StateDir:
    """The state folder. Nothing in it changes until `lock` is called."""

    def __init__(self, path: Path, owner: int | None = None) -> None:
        """Read what the folder remembers.

        Args:
            path: The folder.
            owner: Number of the account that uses it; None: that of this process.

        Raises:
            UpError: The folder is of a newer version, damaged, no folder, or not usable (`require_usable`).
        """
        self.path = path.absolute()
        #: Whether the folder has been a state folder before.
        self.is_ours = False
        self._lock: int | None = None
        self._owner = owner
        self.remembered = self._read()

    @property
    def file(self) -> Path:
        """The path of the file with the folder's version and what is remembered."""
        return self.path / "state.json"

    def _read(self) -> Remembered:
        self.is_ours = require_usable(self.path, self._owner)
        try:
            plain = json.loads(self.file.read_text(encoding="utf-8"))
            version = int(plain.pop("format"))
        except FileNotFoundError:
            return Remembered()
        except PermissionError as error:
            raise wrong_input(f"{self.path} belongs to another user; choose another folder with --state-dir") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"{self.file} is damaged ({error}); move the folder away or choose another with --state-dir"
            raise wrong_input(message) from error
        if version > FORMAT:
            raise wrong_input(
                f"{self.path} was written by a newer HAI (format {version}, this one knows up to {FORMAT}); "
                "upgrade HAI, or choose another folder with --state-dir. Nothing was changed"
            )
        known = {key: plain[key] for key in Remembered.__dataclass_fields__ if key in plain}
        return Remembered(**known)

    def lock(self) -> None:
        """Make the folder and lock it for this process, until `unlock` or the end of the process.

        Raises:
            UpError: Another `hai up` uses the folder, or it cannot be made.
        """
        try:
            make_folder(self.path, 0o700)
            self.path.chmod(0o700)
            for name in _SUBFOLDERS:
                (self.path / name).mkdir(mode=0o700, exist_ok=True)
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            message = f"{error.filename} cannot be used: {error.strerror}; choose another folder with --state-dir"
            raise wrong_input(message) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(lock, 20).decode(errors="replace").strip() or "unknown"
            os.close(lock)
            raise wrong_input(
                f"another `hai up` (process {owner}) uses {self.path}; stop it, "
                "or give this one a folder and a port of its own with --state-dir and --port"
            ) from error
        os.ftruncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
        self._lock = lock
        # Read again: the process that held the lock before may have written.
        self.remembered = self._read()

    def unlock(self) -> None:
        """Release the lock, so that another `hai up` can use the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def remember(self, **changes: object) -> None:
        """Change fields of `remembered`, and write `state.json` atomically."""
        self.remembered = replace(self.remembered, **changes)  # type: ignore[arg-type]
        text = json.dumps({"format": FORMAT, **asdict(self.remembered)}, indent=2) + "\n"
        write_private(self.file, text)

    def secret(self, name: str, *, new: str | None = None) -> str:
        """Return the secret of that name, which is made at first use.

        Args:
            name: File name below `secrets/`.
            new: New value of the secret; None: keep the one that is there, or generate one.
        """
        path = self.path / "secrets" / name
        if new is None:
            try:
                if kept := path.read_text(encoding="utf-8").strip():
                    return kept
            except FileNotFoundError:
                pass
            new = generated_password() if name == ADMIN_PASSWORD else secrets.token_hex(32)
        write_private(path, new + "\n")
        return new


def default_state_dir() -> Path:
    """Return `$XDG_STATE_HOME/hai`, or `~/.local/state/hai` if the variable is not set to an absolute path."""
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state") / "hai"


def haienv_root(state_dir: Path, unix_users: str) -> Path:
    """Return the folder of all environments of haienv, unless a setting names another.

    Args:
        state_dir: The state folder. Only the platform may enter it.
        unix_users: Pattern for the names of Unix accounts; if set, the folder is beside the state folder.
    """
    return state_dir.with_name(f"{state_dir.name}-haienv") if unix_users else state_dir / "haienv"


def write_private(path: Path, text: str) -> None:
    """Write a file as a whole (`write_whole`), so that it survives a power cut; only its owner can read it.

    Raises:
        UpError: The file cannot be written.
    """
    try:
        write_whole(path, text, on_disk=True)
    except OSError as error:
        raise UpError(f"{path} cannot be written: {error.strerror}") from error


def checked_password(password: str) -> str:
    """Return the password of `--password` if it can be used.

    Raises:
        UpError: The password is too short, or has characters that cannot be typed at a login.
    """
    if len(password) < _PASSWORD_LEAST:
        raise wrong_input(f"--password: {len(password)} characters are too few; give it at least {_PASSWORD_LEAST}")
    if not password.isprintable() or password != password.strip():
        raise wrong_input("--password: it has control characters, or spaces at its ends; leave them out")
    return password


def generated_password() -> str:
    """Return twelve random letters and digits that do not look alike, with 59 bits of entropy."""
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(3))
