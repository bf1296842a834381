"""Keep the passwords of invited users: the platform makes them, shows each once, and stores only hashes."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass
from hmac import compare_digest
from pathlib import Path
from threading import Lock
from typing import Any, Final

from hai_hub.shared.errors import UpError
from hai_hub.shared.state import generated_password, write_private

#: scrypt's cost: 16 MiB and some 50 ms for each guess (RFC 7914).
_COST: Final = {"n": 2**14, "r": 8, "p": 1}

#: Held while the file is read, changed and written.
_CHANGING: Final = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """The hash of one user's password."""

    since: str  #: When the Hub made the user. A later user of the same name has another time, and not this password.
    salt: str  #: Random bytes, in hexadecimal.
    hash: str  #: scrypt of the password, in hexadecimal.


class Passwords:
    """The file of passwords, below `secrets/`. Each call reads it: it is small, and an admin may restore it meanwhile.

    Args:
        file: Path of the file; a missing file holds no passwords.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def make(self, name: str, since: str) -> str:
        """Give a user a new password; the password before becomes invalid.

        Args:
            name: Name of the user.
            since: When the Hub made the user.

        Returns:
            The password. Only its hash is stored.

        Raises:
            UpError: The file cannot be read or written.
        """
        password, salt = generated_password(), secrets.token_bytes(16)
        kept = _Kept(since=since, salt=salt.hex(), hash=hashed(password, salt))
        with _CHANGING:
            self._write(self._read() | {name: kept})
        return password

    def has(self, name: str, since: str) -> bool:
        """Return whether a user has a password. Raises UpError."""
        kept = self._read().get(name)
        return kept is not None and kept.since == since

    def matches(self, name: str, since: str, password: str) -> bool:
        """Return whether this is a user's password. Hashing is slow on purpose: call it in a thread. Raises UpError."""
        kept = self._read().get(name)
        if kept is None or kept.since != since:
            return False
        return compare_digest(hashed(password, bytes.fromhex(kept.salt)), kept.hash)

    def remove(self, name: str) -> None:
        """Remove a user's password. Raises UpError."""
        with _CHANGING:
            all_ = self._read()
            if all_.pop(name, None) is not None:
                self._write(all_)

    def _read(self) -> dict[str, _Kept]:
        try:
            plain: dict[str, Any] = json.loads(self._file.read_text(encoding="utf-8"))
            return {name: _Kept(**kept) for name, kept in plain.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise UpError(
                f"{self._file} cannot be read ({type(error).__name__}); restore it, or move it away and make new "
                "passwords with `hai admin user password NAME`"
            ) from error

    def _write(self, all_: dict[str, _Kept]) -> None:
        write_private(self._file, json.dumps({name: asdict(kept) for name, kept in all_.items()}, indent=2) + "\n")


def hashed(password: str, salt: bytes) -> str:
    """Return scrypt of a password, in hexadecimal. It is slow on purpose: call it in a thread."""
    return hashlib.scrypt(password.encode("utf-8", "surrogatepass"), salt=salt, **_COST).hex()
