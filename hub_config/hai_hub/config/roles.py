"""Who may do what, as data for JupyterHub's roles and scopes."""

from __future__ import annotations

from typing import Any, Final

from hai_hub.config.settings import SERVICE_NAME

READ: Final = "custom:hai:tasks:read"
WRITE: Final = "custom:hai:tasks:write"
ADMIN: Final = "custom:hai:admin"
METRICS: Final = "custom:hai:metrics"
CONTAINERS: Final = "custom:hai:containers"
ARCHIVE: Final = "custom:hai:archive"
ACTIVE_USERS: Final = "custom:hai:active-users"
IDENTITIES: Final = "custom:hai:identities"
#: With a filter, such as `!group=cv`, for that group alone.
ENVIRONMENTS: Final = "custom:hai:environments"
ACCESS: Final = f"access:services!service={SERVICE_NAME}"

#: The service that `hai up` acts as. It has no address, only a token.
UP_SERVICE: Final = "hai-up"
#: The service as which spawners send requests to the scheduler service. It has no address, only a token.
SPAWNER_SERVICE: Final = "hai-spawner"

CUSTOM_SCOPES: Final[dict[str, dict[str, Any]]] = {
    READ: {"description": "See own tasks, the cluster and the queue"},
    WRITE: {"description": "Submit and change own tasks", "subscopes": [READ]},
    ADMIN: {
        "description": "Act on all tasks, on nodes and on quota",
        "subscopes": [WRITE, CONTAINERS, ACTIVE_USERS, ARCHIVE, ENVIRONMENTS],
    },
    METRICS: {"description": "Read the scheduler's metrics"},
    CONTAINERS: {
        "description": "Read which folders and environments a user's containers get, and book what containers take"
    },
    ARCHIVE: {"description": "Archive users, whose tasks are stopped then"},
    IDENTITIES: {"description": "Write who users' processes are, by what their logins told"},
    ACTIVE_USERS: {"description": "Read the names of users with live tasks"},
    ENVIRONMENTS: {"description": "Build environments of the groups that one is in"},
}

#: What every user may do.
USER_SCOPES: Final = frozenset({ACCESS, WRITE})

#: Scopes of the token of a user's JupyterLab server; the Hub reduces them to those that the user holds.
SERVER_SCOPES: Final = ("users:activity!user", "access:servers!server", ACCESS, WRITE, ENVIRONMENTS)

#: Scopes of a browser session at the scheduler service; the Hub reduces them in the same way.
BROWSER_SCOPES: Final = (WRITE, ENVIRONMENTS, ADMIN)

#: What an administrator of the platform may do: all of HAI, and look after users, their tokens and servers.
ADMIN_SCOPES: Final = (
    ADMIN,
    METRICS,
    ACCESS,
    "admin-ui",
    "admin:groups",
    "admin:users",
    "list:users",
    "servers",
    "tokens",
)

#: What the `hai` command of the local user may do.
LOCAL_TOKEN_SCOPES: Final = (ADMIN, METRICS, ACCESS, "admin:groups", "admin:users", "list:users", "tokens")

#: What `hai login` may ask for, by the word that it sends. A token gets those of the scopes that its owner holds.
LOGIN_RIGHTS: Final[dict[str, tuple[str, ...]]] = {
    "tasks": (WRITE, READ, ACCESS),
    "admin": (ADMIN, WRITE, READ, ACCESS, "admin:users", "tokens"),
}

#: What the scheduler service reads: who exists and who is in which group. The Hub asks it, with its own token, who is
#: archived and who has tasks, archives whom it deletes, and tells it who users' processes are.
SERVICE_SCOPES: Final = (
    "list:groups",
    "list:users",
    "read:groups",
    "read:users:groups",
    ACCESS,
    ACTIVE_USERS,
    ARCHIVE,
    CONTAINERS,
    IDENTITIES,
)


def roles(user: str) -> list[dict[str, Any]]:
    """Return the roles of a HAI hub, as entries of `JupyterHub.load_roles`.

    Args:
        user: Name of the local user, the first administrator of the platform.
    """
    return [
        {
            "name": "hai-admin",
            "description": "Administrator of the platform",
            "scopes": list(ADMIN_SCOPES),
            "users": [user],
        },
        {
            "name": "hai-service",
            "description": "The scheduler service",
            "scopes": list(SERVICE_SCOPES),
            "services": [SERVICE_NAME],
        },
        {
            "name": "hai-up",
            "description": "Gives the local user a token for the hai command",
            "scopes": [f"read:users!user={user}", f"tokens!user={user}"],
            "services": [UP_SERVICE],
        },
        {
            "name": "hai-spawner",
            "description": "Books what development containers take",
            "scopes": [ACCESS, CONTAINERS],
            "services": [SPAWNER_SERVICE],
        },
    ]
