"""Logins of the `hai` command that wait for a person's yes in a browser: the device grant of RFC 8628.

They are in the memory of the Hub's one process. A restart of the Hub forgets them, and the command says so.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

#: Seconds in which a person answers.
LIFETIME_S: Final = 600.0
#: Seconds between two questions of a command, and what is added when it asks sooner (RFC 8628, 3.5).
INTERVAL_S: Final = 5.0
#: A question may come this much sooner: the one before may have been slower on its way.
_EARLY_S: Final = 1.0
#: Most logins that are remembered, and most from one address. People on a login node share its address.
MOST: Final = 1000
MOST_OF_ADDRESS: Final = 50
#: Letters of a code that a person types: no vowels, which make words, and none that looks like a digit (RFC 8628, 6.1).
LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
_LENGTH: Final = 8
_LONGEST_HOST: Final = 64

#: What the command is told: of RFC 8628, 3.5. `yes`: it gets its token now.
Answer = Literal["authorization_pending", "slow_down", "access_denied", "expired_token", "yes"]


class TooManyLogins(Exception):
    """No login can be begun now."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A login that has begun."""

    device_code: str  #: The command's secret.
    user_code: str  #: What the person types: `WXZB-QRST`.


@dataclass(frozen=True, slots=True)
class Consent:
    """A person's yes."""

    user_id: int  #: The Hub's number of the user: another user may get the name.
    name: str
    scopes: tuple[str, ...]  #: What the page has shown.


@dataclass(slots=True)
class Login:
    """A login of a command on some machine."""

    user_code: str  #: Without the dash.
    host: str  #: What the command says the machine is called: ASCII, and not to be believed.
    address: str  #: Where the command's request came from.
    rights: str  #: Which rights it asks for: a key of `roles.LOGIN_RIGHTS`.
    ends_at: float
    decided: bool = False
    consent: Consent | None = None
    _interval_s: float = INTERVAL_S
    _asked_at: float | None = None

    def ask(self, now: float) -> Answer:
        """Return what the command is told, and note that it has asked."""
        soon = self._asked_at is not None and now - self._asked_at < self._interval_s - _EARLY_S
        self._asked_at = now
        if soon:
            self._interval_s += INTERVAL_S
            return "slow_down"
        if not self.decided:
            return "authorization_pending"
        return "access_denied" if self.consent is None else "yes"


class DeviceGrants:
    """The logins that wait.

    Args:
        clock: Returns monotonic time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: By the digest of the device code, the oldest first. A used one stays to its end: it counts for its address.
        self._logins: dict[str, Login] = {}
        self._by_user_code: dict[str, Login] = {}

    def begin(self, host: str, address: str, rights: str) -> Begun:
        """Begin a login.

        Args:
            host: What the command says its machine is called; it may be any text.
            address: Where the request came from.
            rights: Which rights it asks for.

        Raises:
            TooManyLogins: There are too many, from this address or of all.
        """
        self._forget()
        of_address = sum(one.address == address for one in self._logins.values())
        if len(self._logins) >= MOST or of_address >= MOST_OF_ADDRESS:
            raise TooManyLogins
        device_code, user_code = secrets.token_urlsafe(32), self._new_user_code()
        made = Login(user_code, plain_host(host), address, rights, self._clock() + LIFETIME_S)
        self._logins[_digest(device_code)] = self._by_user_code[user_code] = made
        return Begun(device_code, f"{user_code[:4]}-{user_code[4:]}")

    def find(self, typed: str) -> Login | None:
        """Return the login whose code a person has typed; None: it is unknown, decided or over."""
        self._forget()
        found = self._by_user_code.get(typed_code(typed))
        return None if found is None or found.decided else found

    def decide(self, typed: str, consent: Consent | None) -> bool:
        """Note a person's yes, or None for a no. Return whether it counts: the first answer does, and in time."""
        found = self.find(typed)
        if found is None:
            return False
        found.decided, found.consent = True, consent
        return True

    def ask(self, device_code: str) -> tuple[Answer, Login | None]:
        """Return what the command is told. With `yes` comes the login, once: the code is used up."""
        self._forget()
        found = self._logins.get(_digest(device_code))
        # A restart has forgotten codes that were good: an unknown one is as an old one.
        if found is None or found.user_code not in self._by_user_code:
            return "expired_token", None
        answer = found.ask(self._clock())
        if answer in ("yes", "access_denied"):
            del self._by_user_code[found.user_code]
        return answer, found if answer == "yes" else None

    def _forget(self) -> None:
        now = self._clock()
        for digest, login in list(self._logins.items()):
            if login.ends_at > now:
                break
            del self._logins[digest]
            self._by_user_code.pop(login.user_code, None)

    def _new_user_code(self) -> str:
        while True:
            made = "".join(secrets.choice(LETTERS) for _ in range(_LENGTH))
            if made not in self._by_user_code:
                return made

    def __len__(self) -> int:
        return len(self._logins)


def plain_host(host: str) -> str:
    """Return a machine's name as it is shown: 64 characters at most, and nothing but letters, digits and `. _ -`."""
    return re.sub(r"[^A-Za-z0-9._-]", "?", host[:_LONGEST_HOST]) or "?"


def typed_code(typed: str) -> str:
    """Return a code as it was given out, however it was typed: in small letters, without the dash, with spaces."""
    return re.sub(r"[^A-Z]", "", typed[:_LONGEST_HOST].upper())


def _digest(device_code: str) -> str:
    return hashlib.sha256(device_code.encode("utf-8", "surrogatepass")).hexdigest()
