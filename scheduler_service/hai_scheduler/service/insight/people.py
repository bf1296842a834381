"""All users for admins: groups, tasks and quota by priority, when they were last seen, who is active or archived."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from hai_scheduler.core.ledger.row import ERASED
from hai_scheduler.core.model.limits import SPOT
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.quota import LEVELS
from hai_scheduler.ports.values import ArchivedUser, AuditEntry, AuditFilter, UserVisit
from hai_scheduler.service.insight.census import level_of
from hai_scheduler.service.insight.queries import VIEW_BEARABLE, LevelView
from hai_scheduler.service.insight.quota_views import QuotaView, quota_views
from hai_scheduler.service.scheduling.unfinished import LiveTasks
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.errors import Invalid, NotFound
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.store.store import Store
from hai_scheduler.store.transaction import Tx

#: A user counts as an admin if a token of theirs had that right within this time before they were last seen: some
#: tokens of admins carry less.
_ADMIN_WITHIN: Final = timedelta(days=1)
#: Entries of the audit that one user's page has.
_RECENT: Final = 20


class PeopleOrder(StrEnum):
    """What a list of users is sorted by. All but the name begin with the greatest."""

    NAME = "name"
    SEEN = "seen"
    RUNNING = "running"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleFilter:
    """Which users to list; None is any."""

    #: A part of the name, letter case ignored.
    name: str | None = None
    #: A user group.
    group: str | None = None
    archived: bool | None = None
    order: PeopleOrder = PeopleOrder.NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQuotaView:
    """What a user may hold at a level, and the user's own row there."""

    view: QuotaView
    #: The row of the user alone, which counts unless it has expired; None: there is none.
    own: Quota | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserView:
    """A user, as admins see them."""

    name: str
    groups: Sequence[str]
    admin: bool
    archived: ArchivedUser | None
    #: None: never, as far as is known.
    seen_at: datetime | None
    #: Levels with unfinished tasks, highest first.
    levels: Sequence[LevelView] = ()
    quota: Sequence[UserQuotaView] = ()

    @property
    def running_nodes(self) -> int:
        """The nodes that their tasks hold."""
        return sum(level.running_nodes for level in self.levels)

    @property
    def waiting_nodes(self) -> int:
        """The nodes that their tasks wait for."""
        return sum(level.waiting_nodes for level in self.levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPage:
    """A page of users; cursor None means that it is the last page."""

    items: Sequence[UserView]
    #: How many users match, on all pages.
    total: int
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserStory:
    """One user, with the rows of quota that can count for them and what admins have changed about them."""

    view: UserView
    rows: Sequence[Quota]
    audit: Sequence[AuditEntry]


@dataclass(frozen=True, slots=True)
class _Known:
    """What the store has of all users."""

    groups: Mapping[str, frozenset[str]]
    visits: Mapping[str, UserVisit]
    archived: Mapping[str, ArchivedUser]
    quotas: Sequence[Quota]
    tasks: Sequence[Task]
    names: frozenset[str]


@dataclass(slots=True, eq=False)
class People(UseCase):
    """The use cases of reading who uses the platform."""

    live: LiveTasks = field(default_factory=LiveTasks)

    async def page(self, caller: Caller, where: PeopleFilter, *, cursor: str | None, limit: int) -> UserPage:
        """A page of users. Raises Forbidden and Invalid.

        The users of later pages are sorted by what holds then, so that one who has changed place may be missing or
        come twice.
        """
        admins_only(caller)
        after = None if cursor is None else _key_of(cursor)
        await self.latest_plan.asked(VIEW_BEARABLE)
        async with self.store.read() as tx:
            known = await _read(tx)
        levels = self._levels(known.tasks)
        # Views are made for the users of the page alone: there may be ten thousand others.
        keys = sorted(
            (_rank(known, name, levels, where.order), name) for name in known.names if _matches(known, name, where)
        )
        rest = keys if after is None else keys[bisect_right(keys, after) :]
        shown = rest[:limit]
        return UserPage(
            items=self._with_quota(known, [_view(known, name, levels.get(name, ())) for _, name in shown]),
            total=len(keys),
            cursor=_cursor(shown[-1]) if len(rest) > limit else None,
        )

    async def one(self, caller: Caller, name: str) -> UserStory:
        """One user. Raises Forbidden and NotFound."""
        admins_only(caller)
        await self.latest_plan.asked(VIEW_BEARABLE)
        async with self.store.read() as tx:
            known = await _read(tx)
            if name not in known.names:
                raise NotFound(f"HAI and the Hub know no user {name!r}: `hai admin user list` shows all of the Hub.")
            entries = await tx.audit.page(AuditFilter(subject=f"user:{name}"), before=None, limit=_RECENT)
        levels = self._levels(task for task in known.tasks if task.user == name)
        (view,) = self._with_quota(known, [_view(known, name, levels.get(name, ()))])
        subjects = {
            "public",
            f"user:{name}",
            *(f"{kind}:{group}" for kind in ("group", "total") for group in view.groups),
        }
        return UserStory(view=view, rows=[row for row in known.quotas if row.subject in subjects], audit=entries)

    def _levels(self, tasks: Iterable[Task]) -> Mapping[str, Sequence[LevelView]]:
        """What the unfinished tasks of each user hold and wait for."""
        counts: defaultdict[tuple[str, Priority], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for task in tasks:
            level = level_of(task, self.latest_plan.verdicts) or Priority.NORMAL
            count, at = counts[task.user, level], 2 if task.state.waiting else 0
            count[at] += 1
            count[at + 1] += task.nodes
        found: defaultdict[str, list[LevelView]] = defaultdict(list)
        for user, level in sorted(counts, key=lambda key: LEVELS.index(key[1])):
            running, running_nodes, waiting, waiting_nodes = counts[user, level]
            found[user].append(
                LevelView(
                    priority=level,
                    running_tasks=running,
                    running_nodes=running_nodes,
                    waiting_tasks=waiting,
                    waiting_nodes=waiting_nodes,
                )
            )
        return found

    def _with_quota(self, known: _Known, views: Sequence[UserView]) -> list[UserView]:
        quota = quota_views(
            known.quotas,
            self.live.of(known.tasks),
            {view.name: view.groups for view in views},
            now=self.clock.now(),
            node_groups=self.latest_plan.groups(),
            gpus_per_node=self.latest_plan.gpus_per_node,
        )
        own = {(row.subject, row.group, row.priority): row for row in known.quotas}
        return [
            replace(
                view,
                quota=[
                    UserQuotaView(view=one, own=own.get((f"user:{view.name}", one.group, one.priority)))
                    for one in quota[view.name]
                ],
            )
            for view in views
        ]


async def _read(tx: Tx) -> _Known:
    groups = {user.name: user.groups for user in await tx.users.all()}
    visits, archived, quotas = await tx.users.visits(), await tx.users.archived(), await tx.quotas.all()
    tasks = await tx.tasks.unfinished()
    rows = {row.subject.removeprefix("user:") for row in quotas if row.subject.startswith("user:")}
    names = {*groups, *visits, *archived, *rows, *(await tx.ledger.users()), *(task.user for task in tasks)}
    return _Known(groups, visits, archived, quotas, tasks, frozenset(names - {ERASED}))


def _view(known: _Known, name: str, levels: Sequence[LevelView]) -> UserView:
    visit = known.visits.get(name)
    return UserView(
        name=name,
        groups=sorted(known.groups.get(name, ())),
        admin=visit is not None and visit.admin_at is not None and visit.seen_at - visit.admin_at <= _ADMIN_WITHIN,
        archived=known.archived.get(name),
        seen_at=None if visit is None else visit.seen_at,
        levels=levels,
    )


def _matches(known: _Known, name: str, where: PeopleFilter) -> bool:
    return (
        (where.name is None or where.name.casefold() in name.casefold())
        and (where.group is None or where.group in known.groups.get(name, ()))
        and (where.archived is None or (name in known.archived) is where.archived)
    )


#: The place of a user in a list: what it is sorted by, and the name.
_Key = tuple[float, str]


def _rank(known: _Known, name: str, levels: Mapping[str, Sequence[LevelView]], order: PeopleOrder) -> float:
    """What a list is sorted by; the greatest comes first, so it is below 0."""
    match order:
        case PeopleOrder.SEEN:
            visit = known.visits.get(name)
            return 0.0 if visit is None else -visit.seen_at.timestamp()
        case PeopleOrder.RUNNING:
            return -float(sum(level.running_nodes for level in levels.get(name, ())))
        case PeopleOrder.WAITING:
            return -float(sum(level.waiting_nodes for level in levels.get(name, ())))
        case _:
            return 0.0


def _cursor(key: _Key) -> str:
    return urlsafe_b64encode(json.dumps(key).encode()).decode()


def _key_of(cursor: str) -> _Key:
    try:
        number, name = json.loads(urlsafe_b64decode(cursor.encode("ascii")))
        return float(number), str(name)
    except (ValueError, TypeError):
        message = "is not a cursor: use `next_cursor` of the page before, unchanged"
        raise Invalid("cursor", cursor, message) from None


async def active_users(store: Store) -> list[str]:
    """Users with at least one unfinished task that is not held, spot containers excluded; sorted by name."""
    async with store.read() as tx:
        tasks = [task for task in await tx.tasks.unfinished() if not task.held]
        return sorted({task.user for task in tasks if not await _is_spot(tx, task)})


async def _is_spot(tx: Tx, task: Task) -> bool:
    # The name first: reading every specification would be slow, as the Hub asks every half minute.
    return task.name.startswith(SPOT) and SPOT in (await tx.tasks.get_spec(task.id)).tags
