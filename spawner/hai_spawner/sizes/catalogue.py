"""Read the sizes of development containers from an administrator's settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NoReturn

from hai_client.durations import parse_duration
from hai_client.errors import Invalid
from hai_client.quantity import format_bytes, format_count, parse_quantity

#: Amounts by resource name, in whole units: cores, bytes, devices.
Amounts = Mapping[str, Decimal]

_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_RESOURCE: Final = re.compile(r"[a-z0-9.-]{1,253}/[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_LABEL: Final = re.compile(r"(?:[a-z0-9.-]{1,253}/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_IMAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,499}")
_MOST_DEVICES: Final = 1024
#: Fields for the culler, checked here so that a mistake is reported when the Hub starts.
_DURATIONS: Final = ("idle", "lifetime", "longest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """The user who asks for a server."""

    name: str  #: Name of the user at the Hub.
    groups: frozenset[str] = frozenset()  #: Names of the user's groups.
    roles: frozenset[str] = frozenset()  #: Names of the user's Hub roles, with those of the groups.
    admin: bool = False  #: Whether the user is an administrator of the Hub.


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """The users who may use a size: members of one of the groups, holders of one of the roles, or administrators."""

    groups: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    admins: bool = False

    def has(self, person: Person) -> bool:
        """Return whether a person belongs to the audience."""
        return bool(self.groups & person.groups or self.roles & person.roles or (self.admins and person.admin))

    def __str__(self) -> str:
        """Return the audience in words: `group ml, role teacher, administrators`."""
        words = [f"group {name}" for name in sorted(self.groups)]
        words += [f"role {name}" for name in sorted(self.roles)]
        return ", ".join([*words, "administrators"] if self.admins else words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A size of development containers."""

    name: str  #: Name of the size: lower-case letters, digits and `-`.
    title: str  #: Title on the spawn page.
    description: str = ""  #: A sentence below the title.
    cpu: Decimal  #: Cores that the container has for itself (request).
    cpu_limit: Decimal  #: Cores that the container may use when they are free (limit); at least `cpu`.
    memory: Decimal  #: Bytes of memory, both request and limit.
    #: Name of a GPU or MIG resource, as `nvidia.com/gpu` or `nvidia.com/mig-1g.10gb`; None: no device.
    resource: str | None = None
    count: int = 0  #: Number of devices of that resource.
    image: str | None = None  #: Image of the container; None: the spawner's.
    #: Labels that its node must have besides the label of the node group.
    node_selector: Mapping[str, str] = field(default_factory=dict)
    audience: Audience | None = None  #: Users who may use the size; None: all users.
    start_timeout: int | None = None  #: Seconds that a start may take; None: the spawner's.

    def allows(self, person: Person) -> bool:
        """Return whether a person may use the size."""
        return self.audience is None or self.audience.has(person)

    @property
    def needs(self) -> Amounts:
        """The amounts that a container of this size takes from a node."""
        needs = {"cpu": self.cpu, "memory": self.memory, "pods": Decimal(1)}
        return needs | {self.resource: Decimal(self.count)} if self.resource is not None else needs

    @property
    def summary(self) -> str:
        """The size in a few words: `4 CPU, 16 GiB, 1 nvidia.com/gpu`."""
        words = [f"{format_count(self.cpu)} CPU", format_bytes(self.memory)]
        if self.resource is not None:
            words.append(f"{self.count} {self.resource}")
        return ", ".join(words)


def parse_sizes(table: Mapping[str, Any], *, setting: str = "sizes") -> dict[str, Size]:
    """Return the sizes of a configuration, by name.

    Args:
        table: A table for each size, by its name, in the order of the page; the field `order` changes that order.
        setting: Name of the setting for error messages.

    Raises:
        ValueError: A field is wrong; the message names the field, its value and the remedy.
    """
    parsed = [_Table(f"{setting}[{name!r}]", given, _FIELDS).size(name) for name, given in table.items()]
    return {size.name: size for _, size in sorted(parsed, key=lambda pair: pair[0])}


_FIELDS: Final = frozenset(
    {
        *("title", "description", "cpu", "cpu_limit", "memory", "resource", "count", "image"),
        *("node_selector", "allow", "start_timeout", "order", *_DURATIONS),
    }
)


class _Table:
    """A table of the configuration, read field by field."""

    def __init__(self, where: str, given: object, fields: frozenset[str]) -> None:
        self.where = where
        if not isinstance(given, Mapping):
            self.refuse(where, given, "describe it by a table such as {'cpu': 2, 'memory': '8Gi'}")
        self.given: Mapping[str, Any] = given
        for unknown in sorted(map(str, set(given) - fields)):
            self.refuse(f"{where}.{unknown}", given.get(unknown), f"there is no such field; use {_listed(fields)}")

    def refuse(self, where: str, value: object, remedy: str) -> NoReturn:
        raise ValueError(f"{where} is {value!r}: {remedy}")

    def get(self, name: str, default: Any, fits: Callable[[Any], bool], remedy: str) -> Any:
        value = self.given.get(name)
        if value is None:
            return default
        return value if fits(value) else self.refuse(f"{self.where}.{name}", value, remedy)

    def text(self, name: str, default: str | None, form: re.Pattern[str] | None, remedy: str) -> Any:
        return self.get(
            name, default, lambda v: isinstance(v, str) and (form is None or bool(form.fullmatch(v))), remedy
        )

    def quantity(self, name: str, remedy: str) -> Decimal | None:
        value = self.given.get(name)
        if value is None:
            return None
        try:
            amount = parse_quantity(value)
        except ValueError:
            amount = Decimal(0)
        return amount if amount > 0 else self.refuse(f"{self.where}.{name}", value, remedy)

    def names(self, name: str) -> frozenset[str]:
        found = self.get(name, [], _are_names, "give a list of names, such as ['ml']")
        return frozenset(found)

    def size(self, name: object) -> tuple[int, Size]:
        """Return the size that the table describes, after its number in the order."""
        if not (isinstance(name, str) and _NAME.fullmatch(name)):
            self.refuse(self.where, name, "name it with up to 63 lower-case letters, digits and '-', such as 'gpu-1'")
        cpu = self.quantity("cpu", "give the cores, such as 2 or 500m")
        memory = self.quantity("memory", "give the bytes, such as 8Gi")
        for needed, value, example in (("cpu", cpu, "2"), ("memory", memory, "8Gi")):
            if value is None:
                self.refuse(f"{self.where}.{needed}", None, f"every size needs it, such as {example}")
        assert cpu is not None
        assert memory is not None
        resource, count = self._devices()
        self._check_durations()
        size = Size(
            name=str(name),
            title=self.text("title", str(name), None, "give a text"),
            description=self.text("description", "", None, "give a text"),
            cpu=cpu,
            cpu_limit=self._cpu_limit(cpu),
            memory=memory,
            resource=resource,
            count=count,
            image=self.text("image", None, _IMAGE, "give the name of an image, such as registry.example/lab:1"),
            node_selector=dict(self.get("node_selector", {}, _are_labels, "give a table of node labels and values")),
            audience=self._audience(),
            start_timeout=self.get("start_timeout", None, lambda v: _whole(v, 1, 86_400), "give seconds, such as 600"),
        )
        order: int = self.get("order", 0, lambda v: _whole(v, -10_000, 10_000), "give a whole number; 0 is the default")
        return order, size

    def _cpu_limit(self, cpu: Decimal) -> Decimal:
        limit = self.quantity("cpu_limit", "give the cores, such as 4") or cpu
        if limit < cpu:
            self.refuse(
                f"{self.where}.cpu_limit", self.given["cpu_limit"], "it must be at least `cpu`; or leave it out"
            )
        return limit

    def _devices(self) -> tuple[str | None, int]:
        remedy = "give the name of a device resource, such as nvidia.com/gpu"
        resource: str | None = self.text("resource", None, _RESOURCE, remedy)
        remedy = f"give a whole number from 1 to {_MOST_DEVICES}"
        count: int | None = self.get("count", None, lambda v: _whole(v, 1, _MOST_DEVICES), remedy)
        if resource is None and count is not None:
            self.refuse(f"{self.where}.count", count, "say of what: set `resource`, or leave `count` out")
        return resource, (1 if count is None else count) if resource is not None else 0

    def _audience(self) -> Audience | None:
        if self.given.get("allow") is None:
            return None
        table = _Table(f"{self.where}.allow", self.given["allow"], frozenset({"groups", "roles", "admins"}))
        admins: bool = table.get("admins", False, lambda v: isinstance(v, bool), "say true or false")
        return Audience(groups=table.names("groups"), roles=table.names("roles"), admins=admins)

    def _check_durations(self) -> None:
        for name in _DURATIONS:
            value = self.given.get(name)
            if value is None or value == "never":
                continue
            try:
                fits = isinstance(value, str | int) and not isinstance(value, bool) and parse_duration(str(value)) > 0
            except Invalid:
                fits = False
            if not fits:
                self.refuse(f"{self.where}.{name}", value, "give a length of time, such as 12h, or never")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _are_names(value: object) -> bool:
    return isinstance(value, list | tuple | set | frozenset) and all(isinstance(name, str) and name for name in value)


def _are_labels(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(key, str) and _LABEL.fullmatch(key) and isinstance(word, str) for key, word in value.items()
    )
