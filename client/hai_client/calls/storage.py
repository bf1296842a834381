"""The REST calls for mount rules and environments."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping

from hai_client import wire
from hai_client.calls.base import Calls, quoted
from hai_client.http import Query
from hai_client.wire.schema import Task


class StorageCalls(Calls):
    """The calls of `Client` for mount rules and environments of tasks and development containers."""

    def mounts(self) -> tuple[wire.storage.MountRule, ...]:
        """Return all mount rules, sorted by name. For admins."""
        return self._get(wire.storage.MountRuleList, "GET", "/mounts").items

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
    ) -> wire.storage.MountRule:
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
        return self._get(wire.storage.MountRule, "PUT", f"/mounts/{quoted(name, 'mount')}", body=body)

    def delete_mount(self, name: str) -> None:
        """Remove a mount rule. For admins."""
        self._http.call("DELETE", f"/mounts/{quoted(name, 'mount')}")

    def environments(
        self, *, everybodys: bool = False, kind: str | None = None
    ) -> tuple[wire.storage.Environment, ...]:
        """Return what the caller's tasks can run in: images by name, then environments of haienv by owner and name.

        Args:
            everybodys: For admins: also what the caller may not use.
            kind: `image` or `haienv` alone (default: both).
        """
        return self.environment_list(everybodys=everybodys, kind=kind).items

    def environment_list(self, *, everybodys: bool = False, kind: str | None = None) -> wire.storage.EnvironmentList:
        """Return the same list, with the owners for whom the caller may build, and with warnings."""
        query: Query = {"all": "true" if everybodys else None, "kind": kind}
        return self._get(wire.storage.EnvironmentList, "GET", "/environments", query=query)

    def environment(self, name: str) -> wire.storage.EnvironmentDetail:
        """Return what a name means for the caller, with its packages: `vision`, `groups/cv/vision@3`, `images/torch`.

        Raises:
            NotFound: There is none that the caller may use.
        """
        return self._get(wire.storage.EnvironmentDetail, "GET", f"/environments/{quoted(name, 'environment')}")

    def build_environment(
        self,
        name: str,
        verb: str,
        *,
        requirements: Iterable[str] = (),
        extend: str | None = None,
        python: str | None = None,
        kernel: bool = True,
        description: str = "",
        generation: int | None = None,
        groups: Iterable[str] = (),
        users: Iterable[str] = (),
        everyone: bool = False,
        idempotency_key: str | None = None,
    ) -> Task:
        """Have the platform create or change an environment of haienv; returns the task that does it.

        Args:
            name: The environment; a bare name is the caller's own.
            verb: create, install, uninstall, rebuild, rollback, share, unshare or remove.
            requirements: create, install: such as `timm==1.0.20`. uninstall: names of packages.
            extend: create: the full name of an environment whose packages it has too.
            python: create: the version of Python, such as 3.11.
            kernel: create: whether Jupyter offers it as a kernel.
            description: create: what it is for.
            generation: rollback: where to (default: the one before).
            groups: share, unshare: groups.
            users: share, unshare: users.
            everyone: share, unshare: everybody.
            idempotency_key: As for `submit`.
        """
        body = {
            "verb": verb,
            "requirements": list(requirements),
            "extend": extend,
            "python": python,
            "kernel": kernel,
            "description": description,
            "generation": generation,
            "groups": list(groups),
            "users": list(users),
            "everyone": everyone,
        }
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        path = f"/environments/{quoted(name, 'environment')}/builds"
        return self._get(Task, "POST", path, body=body, headers=headers, again=True)

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
        machine: str = "",
        glibc: str = "",
    ) -> wire.storage.Environment:
        """Write a complete image; it replaces an earlier one of the same name. For admins.

        Args:
            name: Its name.
            subjects: Who may use it: `user:NAME`, `group:NAME`, `public`.
            image: Container image; None leaves it to the cluster.
            python: Absolute path of a Python program; None leaves it to the image or the node.
            variables: Values may hold `{user}` and `{task}`.
            description: A text for people.
            default: Whether its subjects get it when they choose none.
            machine: The architecture of the image, such as x86_64; empty: not known.
            glibc: The glibc of the image, such as 2.31; empty: not known.
        """
        body = {
            "image": image,
            "python": python,
            "variables": dict(variables or {}),
            "subjects": list(subjects),
            "description": description,
            "default": default,
            "machine": machine,
            "glibc": glibc,
        }
        return self._get(wire.storage.Environment, "PUT", f"/environments/{quoted(name, 'environment')}", body=body)

    def delete_environment(self, name: str) -> None:
        """Remove an image; tasks that name it cannot start any more. For admins."""
        self._http.call("DELETE", f"/environments/{quoted(name, 'environment')}")

    def container_config(
        self, user: str, *, groups: Iterable[str] | None = None, node_group: str | None = None
    ) -> wire.storage.ContainerConfig:
        """Return the mounts and environments that a user's development container gets. For admins and spawners.

        Args:
            user: The user's name.
            groups: The user's groups (default: those that the service last saw).
            node_group: The group of the node that it runs on; `jupyter` by default.
        """
        given = None if groups is None else json.dumps(sorted(groups))
        return self._get(
            wire.storage.ContainerConfig,
            "GET",
            "/container-config",
            query={"user": user, "groups": given, "node_group": node_group},
        )
