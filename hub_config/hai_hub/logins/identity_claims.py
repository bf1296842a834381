"""What a login tells of a user's account: the numbers, by a table of the names of claims or attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: A number of a user or a group as text is not longer.
_DIGITS = 10


class WrongClaim(Exception):
    """A claim is not what it should be. The message names the claim, its value and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityClaims:
    """The names of the claims of an OIDC provider, or of the attributes of an LDAP directory; empty: not looked for.

    A claim is looked for in the login's state itself, then in each table of it, as authenticators put what they are
    told into one. `oauth_user.posix.uid` is a way through tables.
    """

    uid: str = "uidNumber"
    #: Without it, new files are of the group with the user's own number.
    gid: str = "gidNumber"
    #: Numbers of groups, or names that `group_numbers` knows; others are left out. Empty: the groups of the Hub.
    groups: str = ""
    home: str = "homeDirectory"
    shell: str = "loginShell"
    group_numbers: Mapping[str, int] = field(default_factory=dict)

    def account(self, state: Mapping[str, Any], groups: Sequence[str]) -> dict[str, Any] | None:
        """Return the account as the scheduler service takes it; None: the login tells no number.

        Args:
            state: The `auth_state` of the login.
            groups: The groups of the Hub that the login gives.

        Raises:
            WrongClaim: A claim is something else than a number, or than a text.
        """
        uid = _number(self.uid, _found(state, self.uid))
        if uid is None:
            return None
        gid = _number(self.gid, _found(state, self.gid))
        names = {number: name for name, number in self.group_numbers.items()}
        told = _listed(_found(state, self.groups)) if self.groups else groups
        others = (self._group(one) for one in told)
        gids = dict.fromkeys([uid if gid is None else gid, *(one for one in others if one is not None)])
        return {
            "uid": uid,
            "groups": [{"gid": one, "name": names.get(one, "")} for one in gids],
            "home": _text(self.home, _found(state, self.home)),
            "shell": _text(self.shell, _found(state, self.shell)) or "/bin/sh",
        }

    def _group(self, told: Any) -> int | None:
        """Return the number of a group by its number or its name; None: the table does not know it."""
        if isinstance(told, str) and told in self.group_numbers:
            return int(self.group_numbers[told])
        if isinstance(told, str) and not (told.isascii() and told.isdigit()):
            return None
        return _number(self.groups, told)


def _found(state: Mapping[str, Any], path: str) -> Any:
    """Return the value of a claim; None: there is none."""
    if not path:
        return None
    for table in (state, *(value for value in state.values() if isinstance(value, Mapping))):
        value = _inside(table, path)
        if value is not None:
            return value
    return None


def _inside(table: Mapping[str, Any], path: str) -> Any:
    if path in table:
        return table[path]
    # The name of a claim may hold dots itself: `https://example.org/uid`.
    parts = path.split(".")
    for end in range(1, len(parts)):
        inner = table.get(".".join(parts[:end]))
        if isinstance(inner, Mapping):
            value = _inside(inner, ".".join(parts[end:]))
            if value is not None:
                return value
    return None


def _listed(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)


def _single(value: Any) -> Any:
    """Return the only value of an attribute, which LDAP gives as a list."""
    if isinstance(value, list | tuple) and len(value) <= 1:
        return value[0] if value else None
    return value


def _number(claim: str, value: Any) -> int | None:
    one = _single(value)
    if one is None or one == "":
        return None
    if isinstance(one, str) and one.isascii() and one.isdigit() and len(one) <= _DIGITS:
        return int(one)
    if isinstance(one, int) and not isinstance(one, bool) and 0 <= one < 10**_DIGITS:
        return one
    raise WrongClaim(
        f"claim {claim!r} is {str(one)[:60]!r}, and no number of a user or a group: an admin corrects it in the "
        "directory, or names another claim (identity.claims)"
    )


def _text(claim: str, value: Any) -> str:
    one = _single(value)
    if one is None:
        return ""
    if isinstance(one, str):
        return one
    raise WrongClaim(f"claim {claim!r} is {str(one)[:60]!r}, and no text: name another claim (identity.claims)")
