"""Seals with AES-256-GCM. The first key seals; all keys open, so that a new key can come before the old one goes.

A sealed value is a byte for its form, the mark of its key (4 bytes), a nonce (12 bytes), and the text with its tag. The
mark is made from the key itself: a key that moves to another line stays known.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hai_scheduler.ports.vault import CannotOpen

_FORM: Final = b"\x01"
_MARK: Final = 4
_NONCE: Final = 12
_KEY: Final = re.compile(r"[0-9a-fA-F]{64}")


class KeyRing:
    """The vault whose keys are lines of a text, each 64 hexadecimal digits, the newest first."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        """Take the keys, 32 bytes each, the newest first; at least one."""
        self._newest = _mark_of(keys[0])
        self._ciphers: Mapping[bytes, AESGCM] = {_mark_of(key): AESGCM(key) for key in reversed(keys)}

    @classmethod
    def read(cls, text: str) -> KeyRing:
        """Read the keys of a text. Raises ValueError, whose message names the line and shows no key."""
        lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
        if not lines:
            raise ValueError("has no key: write a line of 64 hexadecimal digits, as `openssl rand -hex 32` prints it")
        for number, line in lines:
            if not _KEY.fullmatch(line):
                raise ValueError(
                    f"line {number} is not a key: write 64 hexadecimal digits, as `openssl rand -hex 32` prints them"
                )
        return cls([bytes.fromhex(line) for _, line in lines])

    def seal(self, value: bytes, *, user: str, name: str, version: int) -> bytes:
        """See `Vault`."""
        nonce = os.urandom(_NONCE)
        text = self._ciphers[self._newest].encrypt(nonce, value, _bound(user, name, version))
        return _FORM + self._newest + nonce + text

    def open(self, sealed: bytes, *, user: str, name: str, version: int) -> bytes:
        """See `Vault`."""
        mark, rest = sealed[1 : 1 + _MARK], sealed[1 + _MARK :]
        cipher = self._ciphers.get(mark)
        if sealed[:1] != _FORM or cipher is None:
            raise CannotOpen("it was sealed with a key that the platform does not have any more")
        try:
            return cipher.decrypt(rest[:_NONCE], rest[_NONCE:], _bound(user, name, version))
        except (InvalidTag, ValueError):
            raise CannotOpen("its row of the database was changed or moved") from None

    def by_newest(self, sealed: bytes) -> bool:
        """See `Vault`."""
        return sealed[: 1 + _MARK] == _FORM + self._newest


def _mark_of(key: bytes) -> bytes:
    return hashlib.sha256(b"hai secrets key" + key).digest()[:_MARK]


def _bound(user: str, name: str, version: int) -> bytes:
    return json.dumps([user, name, version]).encode()
