"""The caller of a use case, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from hai_scheduler.sentences.catalogue import ENGLISH, Language
from hai_scheduler.service.shared.errors import Forbidden

SCOPE_READ: Final = "custom:hai:tasks:read"
SCOPE_WRITE: Final = "custom:hai:tasks:write"
SCOPE_ADMIN: Final = "custom:hai:admin"
SCOPE_METRICS: Final = "custom:hai:metrics"
SCOPE_CONTAINERS: Final = "custom:hai:containers"
SCOPE_ACTIVE_USERS: Final = "custom:hai:active-users"
#: Archive users: the Hub does, for those whom it deletes.
SCOPE_ARCHIVE: Final = "custom:hai:archive"
#: Write who users' processes are, by what their logins told: the Hub does. No admin has it.
SCOPE_IDENTITIES: Final = "custom:hai:identities"
#: Build environments of one's own groups; with a filter (`!group=cv`) of that group.
SCOPE_ENVIRONMENTS: Final = "custom:hai:environments"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A user or a service of the Hub, as its token shows it."""

    name: str
    kind: Literal["user", "service"] = "user"
    groups: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    #: The address that the request came from; None: not known. It does not tell one caller from another.
    address: str | None = field(default=None, compare=False)
    #: The language of what the caller is told.
    say: Language = field(default=ENGLISH, compare=False)

    @property
    def admin(self) -> bool:
        """True if the caller may act on all users' tasks, on nodes and on quota."""
        return SCOPE_ADMIN in self.scopes

    @property
    def builds_for(self) -> frozenset[str]:
        """The groups of the caller whose environments they may have built."""
        if self.admin or SCOPE_ENVIRONMENTS in self.scopes:
            return self.groups
        return frozenset(group for group in self.groups if f"{SCOPE_ENVIRONMENTS}!group={group}" in self.scopes)

    @property
    def archives(self) -> bool:
        """True if the caller may archive users."""
        return self.admin or SCOPE_ARCHIVE in self.scopes

    def may_see(self, user: str) -> bool:
        """True if the caller may see and change the tasks of that user."""
        return self.admin or self.name == user


def admins_only(caller: Caller) -> None:
    """Raise Forbidden unless the caller is an admin."""
    if not caller.admin:
        raise Forbidden("Only admins may do this: it needs the scope custom:hai:admin.")
