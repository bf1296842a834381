"""Who asks, and what he may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from hai_scheduler.service.shared.errors import NotAllowed

SCOPE_READ: Final = "custom:hai:tasks:read"
SCOPE_WRITE: Final = "custom:hai:tasks:write"
SCOPE_ADMIN: Final = "custom:hai:admin"
SCOPE_METRICS: Final = "custom:hai:metrics"
SCOPE_PLACES: Final = "custom:hai:places"
SCOPE_OWNERS: Final = "custom:hai:owners"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A user or a service of the Hub, as its token shows it."""

    name: str
    kind: Literal["user", "service"] = "user"
    groups: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()

    @property
    def admin(self) -> bool:
        """Whether he may act on everybody's tasks, on nodes and on quota."""
        return SCOPE_ADMIN in self.scopes

    def may_see(self, user: str) -> bool:
        """Whether the tasks of that user are his to see and to change."""
        return self.admin or self.name == user


def admins_only(caller: Caller) -> None:
    """Raises NotAllowed for everybody else."""
    if not caller.admin:
        raise NotAllowed("Only admins may do this: it needs the scope custom:hai:admin.")
