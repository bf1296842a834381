"""The routes for admins: users, the audit, the platform's health, and what admins change."""

from __future__ import annotations

from typing import Final

from hai_scheduler.api.handlers import cluster, environments, identities, people, policy, runs, storage
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.preconditions import HEADERS
from hai_scheduler.api.server.route import Route
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, SCOPE_ARCHIVE, SCOPE_CONTAINERS, SCOPE_IDENTITIES

ADMIN_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET",
        "/users",
        SCOPE_ADMIN,
        people.show_all,
        "All users with their tasks and quota by priority, a page at a time",
        kind=Kind.EXPENSIVE,
    ),
    Route(
        "GET",
        "/users/{user}",
        SCOPE_ADMIN,
        people.show,
        "One user, with the rows of quota that can count for them and the latest changes about them",
        kind=Kind.EXPENSIVE,
        codes=("not_found",),
    ),
    Route(
        "POST",
        "/users/{user}/archive",
        SCOPE_ARCHIVE,
        people.archive,
        "Archive a user: their tasks are told to leave and are stopped, and they may not use the platform",
        codes=("not_found", "conflict"),
    ),
    Route(
        "POST",
        "/users/{user}/restore",
        SCOPE_ADMIN,
        people.restore,
        "Let an archived user use the platform again; tasks that were stopped stay stopped",
        status=204,
        codes=("not_found",),
    ),
    Route(
        "GET",
        "/archived-users",
        SCOPE_CONTAINERS,
        people.archived,
        "The names of archived users, whom the Hub must not let in",
    ),
    Route(
        "PUT",
        "/users/{user}/identity",
        SCOPE_IDENTITIES,
        identities.put,
        "Write what the login of a user told of their account: who their processes are (`Identities.source` claims)",
        status=204,
    ),
    Route(
        "DELETE",
        "/users/{user}/identity",
        SCOPE_IDENTITIES,
        identities.delete,
        "Forget it: the latest login of the user told nothing",
        status=204,
    ),
    Route("GET", "/audit", SCOPE_ADMIN, people.audit, "Who changed what, newest first, a page at a time"),
    Route(
        "GET",
        "/health/details",
        SCOPE_ADMIN,
        people.health,
        "The health of scheduler, database and cluster, the versions of all parts, and the alarms in force",
        kind=Kind.EXPENSIVE,
    ),
    Route(
        "PUT",
        "/policy",
        SCOPE_ADMIN,
        policy.change,
        "Change policy numbers, for all node groups or for one",
        codes=("conflict",),
        headers=HEADERS,
    ),
    Route(
        "POST", "/nodes/{name}/cordon", SCOPE_ADMIN, cluster.cordon, "Start no new runs on a node", codes=("not_found",)
    ),
    Route(
        "POST",
        "/nodes/{name}/uncordon",
        SCOPE_ADMIN,
        cluster.uncordon,
        "Start runs on a node again",
        codes=("not_found",),
    ),
    Route(
        "POST",
        "/nodes/{name}/drain",
        SCOPE_ADMIN,
        cluster.drain,
        "Start no new runs on a node and ask the run on it to leave",
        codes=("not_found",),
    ),
    Route(
        "GET",
        "/orphans",
        SCOPE_ADMIN,
        runs.orphans,
        "Runs that belong to no task of the database: it was restored, or is another one",
    ),
    Route(
        "POST",
        "/orphans/{run_id}/end",
        SCOPE_ADMIN,
        runs.end_orphan,
        "End an orphaned run, and put it aside when it has ended; repeating the request is harmless",
        codes=("not_found",),
    ),
    Route(
        "DELETE",
        "/ledger/users/{user}",
        SCOPE_ADMIN,
        cluster.erase_user,
        "Take the name of a user out of the ledger for good; all sums stay",
        status=204,
        codes=("not_found",),
    ),
    Route(
        "PUT", "/quotas", SCOPE_ADMIN, cluster.put_quota, "Write a row of quota", codes=("conflict",), headers=HEADERS
    ),
    Route(
        "DELETE",
        "/quotas",
        SCOPE_ADMIN,
        cluster.delete_quota,
        "Remove a row of quota",
        status=204,
        codes=("conflict", "not_found"),
        headers=HEADERS,
    ),
    Route("GET", "/mounts", SCOPE_ADMIN, storage.mounts, "All mount rules, by name, and what a user sees by them"),
    Route(
        "PUT",
        "/mounts/{rule}",
        SCOPE_ADMIN,
        storage.put_mount,
        "Write a mount rule: a folder that its subject's containers see, or do not see",
        codes=("conflict",),
        headers=HEADERS,
    ),
    Route(
        "DELETE",
        "/mounts/{rule}",
        SCOPE_ADMIN,
        storage.delete_mount,
        "Remove a mount rule",
        status=204,
        codes=("conflict", "not_found"),
        headers=HEADERS,
    ),
    Route(
        "PUT",
        "/environments/{environment}",
        SCOPE_ADMIN,
        environments.put,
        "Write an image under a name: image, Python, variables, and who may use it",
        codes=("conflict",),
        headers=HEADERS,
    ),
    Route(
        "DELETE",
        "/environments/{environment}",
        SCOPE_ADMIN,
        environments.delete,
        "Remove an image; tasks that name it cannot start any more",
        status=204,
        codes=("conflict", "not_found"),
        headers=HEADERS,
    ),
)
