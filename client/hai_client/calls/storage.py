"""The REST calls for mount rules and environments."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping

from hai_client.calls.base import Calls, quoted
from hai_client.http import Query
from hai_client.wire.storage import ContainerConfig, Environment, EnvironmentList, MountRule, MountRuleList


class StorageCalls(Calls):
    """The calls of `Client` for mount rules and environments of tasks and development containers."""

    def mounts(self) -> tuple[MountRule, ...]:
        """Return all mount rules, sorted by name. For admins."""
        return self._get(MountRuleList, "GET", "/mounts").items

    def set_mount(
        self,
        name: str,
        subject: str,
        mount_path: str,
        *,
        kind: str | None,
        source: str = "",
        action: str = "add",
        read_only: bool = True,
        priority: int = 0,
        node_group: str | None = None,
        description: str = "",
    ) -> MountRule:
        """Write a complete mount rule; it replaces an earlier rule of the same name. For admins.

        Args:
            name: Its name.
            subject: `user:NAME`, `group:NAME` or `public`.
            mount_path: Where containers see it; may hold `{user}`, `{task}` and, for a group, `{group}`.
            kind: host_path or pvc; None where the rule removes.
            source: A folder of the node, or a claim and behind a slash a folder in it; templates as above.
            action: add; or remove: what weaker rules mount there is not mounted.
            read_only: Whether the folder is mounted read-only.
            priority: Among rules of the same kind of subject the higher wins.
            node_group: Only on nodes of this group; None is on all.
            description: A text for people.
        """
        body = {
            "subject": subject,
            "action": action,
            "kind": kind,
            "source": source,
            "mount_path": mount_path,
            "read_only": read_only,
            "priority": priority,
            "node_group": node_group,
            "description": description,
        }
        return self._get(MountRule, "PUT", f"/mounts/{quoted(name, 'name')}", body=body)

    def delete_mount(self, name: str) -> None:
        """Remove a mount rule. For admins."""
        self._http.call("DELETE", f"/mounts/{quoted(name, 'name')}")

    def environments(self, *, everybodys: bool = False) -> tuple[Environment, ...]:
        """Return the environments that the caller may use, by name; for admins all of them, if `everybodys` is set."""
        query: Query = {"all": "true"} if everybodys else {}
        return self._get(EnvironmentList, "GET", "/environments", query=query).items

    def set_environment(
        self,
        name: str,
        subjects: Iterable[str],
        *,
        image: str | None = None,
        python: str | None = None,
        variables: Mapping[str, str] | None = None,
        description: str = "",
        default: bool = False,
    ) -> Environment:
        """Write a complete environment; it replaces an earlier one of the same name. For admins.

        Args:
            name: Its name.
            subjects: Who may use it: `user:NAME`, `group:NAME`, `public`.
            image: Container image; None leaves it to the cluster.
            python: Absolute path of a Python program; None leaves it to the image or the node.
            variables: Values may hold `{user}` and `{task}`.
            description: A text for people.
            default: Whether its subjects get it when they choose none.
        """
        body = {
            "image": image,
            "python": python,
            "variables": dict(variables or {}),
            "subjects": list(subjects),
            "description": description,
            "default": default,
        }
        return self._get(Environment, "PUT", f"/environments/{quoted(name, 'name')}", body=body)

    def delete_environment(self, name: str) -> None:
        """Remove an environment; tasks that name it cannot start any more. For admins."""
        self._http.call("DELETE", f"/environments/{quoted(name, 'name')}")

    def places(
        self, user: str, *, groups: Iterable[str] | None = None, node_group: str | None = None
    ) -> ContainerConfig:
        """Do what `container_config` does, by its name in earlier releases."""
        warnings.warn("places() is called container_config() now", DeprecationWarning, stacklevel=2)
        return self.container_config(user, groups=groups, node_group=node_group)

    def container_config(
        self, user: str, *, groups: Iterable[str] | None = None, node_group: str | None = None
    ) -> ContainerConfig:
        """Return the mounts and environments that a user's development container gets. For admins and spawners.

        Args:
            user: The user's name.
            groups: The user's groups (default: those that the service last saw).
            node_group: The group of the node that it runs on; `jupyter` by default.
        """
        given = None if groups is None else json.dumps(sorted(groups))
        return self._get(
            ContainerConfig, "GET", "/container-config", query={"user": user, "groups": given, "node_group": node_group}
        )
