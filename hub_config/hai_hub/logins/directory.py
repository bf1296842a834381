"""Look users up in an LDAP directory, with limits of time. Everything here blocks: call it in a thread."""

from __future__ import annotations

import itertools
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import ldap3
from ldap3.core.exceptions import LDAPException, LDAPInvalidFilterError
from ldap3.utils.conv import escape_filter_chars

from hai_hub.logins.claims import MOST_READ
from hai_hub.logins.questions import Away

#: Seconds for a connection, and for an answer.
_CONNECT_S: Final = 5
_ANSWER_S: Final = 10
#: Groups in one answer.
_PAGE: Final = 500
_MEMBER_OF: Final = "memberOf"
#: Groups of one user that are asked for: a table of groups reads no more.
_MOST_GROUPS: Final = MOST_READ + 1
#: Characters of a name, and bytes of a password: directories close a connection that says more at once.
_LONGEST_NAME: Final = 255
_LONGEST_PASSWORD: Final = 10_000
#: Status 0 of RFC 4511, the one of a lookup that met its limit, and what says that a password is wrong.
_DONE: Final = 0
_LIMIT: Final = 4
_NO_OBJECT: Final = 32
_WRONG: Final = 49
#: What is said of a user who is locked, has no password, or has just been removed; of that user alone, so it is no
#: trouble of the directory: constraintViolation, inappropriateAuthentication, insufficientAccessRights,
#: unwillingToPerform.
_NOT_IN: Final = frozenset({19, _NO_OBJECT, 48, _WRONG, 50, 53})
_PLACE: Final = re.compile(r"\{(dn|user)\}")


@dataclass(frozen=True, slots=True)
class DirectorySettings:
    """Where users and groups are."""

    address: str  #: `ldaps://HOST[:PORT]`, or `ldap://`.
    start_tls: bool  #: Whether `ldap://` is encrypted before anything is said.
    bind_dn: str  #: The account that looks up others; empty: nobody's.
    bind_password: str = field(repr=False)
    user_base: str
    user_filter: str  #: `{user}` stands for the name.
    name_attribute: str
    group_base: str  #: Empty: only the users' own `memberOf` counts.
    group_filter: str  #: `{dn}` and `{user}` stand for the user.
    attributes: tuple[str, ...] = ()  #: Attributes that are kept of a user.


@dataclass(frozen=True, slots=True)
class DirectoryUser:
    """A user of the directory."""

    dn: str
    name: str
    groups: tuple[str, ...]  #: The distinguished names of the user's groups.
    attributes: Mapping[str, list[str]]


class _Tls(ldap3.Tls):
    """Encryption by Python's own rules: ldap3 believes any certificate, and compares names by dropped functions."""

    def wrap_socket(self, connection: Any, **_: Any) -> None:
        """Encrypt a connection; ldap3 calls this. Raises SSLError."""
        plain = connection.socket
        try:
            connection.socket = ssl.create_default_context().wrap_socket(plain, server_hostname=connection.server.host)
        except OSError:
            plain.close()
            raise


class Directory:
    """A directory. Each question has a connection of its own."""

    def __init__(self, settings: DirectorySettings) -> None:
        self._is = settings
        parts = urlsplit(settings.address)
        self._server = ldap3.Server(
            parts.hostname or "",
            port=parts.port or (636 if parts.scheme == "ldaps" else 389),
            use_ssl=parts.scheme == "ldaps",
            tls=_Tls(validate=ssl.CERT_REQUIRED),
            connect_timeout=_CONNECT_S,
            get_info=ldap3.NONE,
        )

    def find(self, name: str) -> DirectoryUser | None:
        """Return a user; None: there is none, or there are several. Raises Away."""
        with self._connection() as connection:
            return self._found(connection, name)

    def signed_in(self, name: str, password: str) -> DirectoryUser | None:
        """Return a user if this is their password, else None. Raises Away."""
        secret = _bytes_of(password)
        # A directory lets anybody in who names a user and no password (RFC 4513, 5.1.2), or neither.
        if not secret or len(secret) > _LONGEST_PASSWORD or b"\0" in secret:
            return None
        with self._connection() as connection:
            found = self._found(connection, name)
        if found is None or not found.dn:
            return None
        with self._opened(found.dn, secret, refused=_NOT_IN) as (_, right):
            return found if right else None

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        """Connect as the account that looks up others. Raises Away."""
        with self._opened(self._is.bind_dn, self._is.bind_password.encode()) as (connection, right):
            if not right:
                raise self._away(
                    "bindDn",
                    f"{self._is.bind_dn!r} is refused by {self._is.address}: check it, and the key bind-password of"
                    " logins.existingSecret.",
                )
            yield connection

    @contextmanager
    def _opened(
        self, dn: str, password: bytes, *, refused: frozenset[int] = frozenset({_WRONG})
    ) -> Iterator[tuple[Any, bool]]:
        """Connect as somebody; yields the connection, and whether the password is right. Raises Away.

        Args:
            dn: Who; empty: nobody.
            password: As bytes, which ldap3 leaves as they are: it refuses some texts, and makes others of others.
            refused: Statuses that say that it is not right; others are trouble of the directory.
        """
        connection = ldap3.Connection(
            self._server,
            user=dn or None,
            password=password or None,
            receive_timeout=_ANSWER_S,
            read_only=True,
            # They would be followed to other servers, with the same password.
            auto_referrals=False,
            check_names=False,
        )
        try:
            connection.open(read_server_info=False)
            if self._is.start_tls and not self._server.ssl:
                connection.start_tls(read_server_info=False)
                if not isinstance(connection.socket, ssl.SSLSocket):
                    raise self._away("startTls", f"is true, and {self._is.address} does not encrypt: use ldaps://.")
            right = bool(connection.bind(read_server_info=False))
            if not right and connection.result["result"] not in refused:
                raise self._away("address", f"{self._is.address} refuses to let {dn!r} in ({_said(connection)}).")
            yield connection, right
        except LDAPInvalidFilterError:
            raise self._away("userFilter", "this, or groupFilter, is no filter of LDAP: write (uid={user}).") from None
        except (LDAPException, OSError) as error:
            why = " ".join(str(error).split())[:200]
            remedy = "check the address, its certificate, hub.networkPolicy and the directory (docs/logins-ldap.md)."
            raise self._away("address", f"{self._is.address} does not answer ({why}): {remedy}") from None
        finally:
            opened = connection.socket
            with suppress(LDAPException, OSError):
                connection.unbind()
            # ldap3 leaves an encrypted one open.
            if opened is not None:
                opened.close()

    def _found(self, connection: Any, name: str) -> DirectoryUser | None:
        if not name or len(name) > _LONGEST_NAME or not _bytes_of(name):
            return None
        wanted = filled_in(self._is.user_filter, user=name)
        attributes = [self._is.name_attribute, _MEMBER_OF, *self._is.attributes]
        connection.search(self._is.user_base, wanted, attributes=attributes, size_limit=2)
        self._check(connection, "userBase", self._is.user_base, _DONE, _LIMIT)
        entries = [each for each in connection.response or () if each.get("type") == "searchResEntry"]
        if len(entries) != 1:
            return None
        kept = {key: _texts(values) for key, values in entries[0]["raw_attributes"].items()}
        names = next((values for key, values in kept.items() if key.lower() == self._is.name_attribute.lower()), [])
        if len(names) != 1:
            # Of several, the next answer may have another one first, and one may be somebody else's.
            why = "has several values" if names else "is not there, or may not be read,"
            raise self._away("nameAttribute", f"{self._is.name_attribute} {why} at {name!a}.")
        groups = {group for key, values in kept.items() if key.lower() == _MEMBER_OF.lower() for group in values}
        groups |= set(self._groups(connection, entries[0]["dn"], names[0]))
        attributes_kept = {key: values for key, values in kept.items() if key.lower() != _MEMBER_OF.lower() and values}
        return DirectoryUser(entries[0]["dn"], names[0], tuple(sorted(groups)), attributes_kept)

    def _groups(self, connection: Any, dn: str, name: str) -> Iterator[str]:
        if not self._is.group_base:
            return
        wanted = filled_in(self._is.group_filter, dn=dn, user=name)
        found = connection.extend.standard.paged_search(
            self._is.group_base, wanted, attributes=["1.1"], paged_size=_PAGE, generator=True
        )
        entries = (each["dn"] for each in found if each.get("type") == "searchResEntry")
        yield from itertools.islice(entries, _MOST_GROUPS)
        # Half of the groups would look as if the user had left the others.
        self._check(connection, "groupBase", self._is.group_base, _DONE)

    def _check(self, connection: Any, setting: str, base: str, *good: int) -> None:
        """Raise Away if the directory did not search: `good` are the statuses of a search that it did."""
        result = connection.result["result"]
        if result == _NO_OBJECT:
            raise self._away(
                setting, f"{self._is.address} has no {base!r}, or does not show it to {self._is.bind_dn!r}."
            )
        if result not in good:
            raise self._away(setting, f"{self._is.address} does not search below {base!r} ({_said(connection)}).")

    def _away(self, setting: str, what: str) -> Away:
        return Away(f"logins.ldap.{setting}: {what}")


def filled_in(pattern: str, **given: str) -> str:
    """Return a filter with `{dn}` and `{user}` filled in, once: what is filled in may hold such words itself."""
    return _PLACE.sub(lambda place: escape_filter_chars(given[place[1]]) if place[1] in given else place[0], pattern)


def _bytes_of(text: str) -> bytes:
    """Return a text as UTF-8; nothing for one that has no such form, as JSON can send it."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return b""


def _said(connection: Any) -> str:
    return str(connection.result.get("description", ""))[:80]


def _texts(values: list[bytes]) -> list[str]:
    """Return the values that are texts: pictures and keys are left out."""
    found = []
    for value in values:
        with suppress(UnicodeDecodeError):
            found.append(value.decode())
    return found
