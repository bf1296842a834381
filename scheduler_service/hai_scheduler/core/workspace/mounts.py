"""Mount rules: which folders the containers of a user see, and where.

A rule says that its subject sees a folder at one mount path, or (`remove`) does not. If several rules for a user have
the same mount path, the strongest decides: a rule for the user before rules for the user's groups before rules for
`public`, then the higher priority, then the name. Weaker rules are left out, and reported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.limits import NAME
from hai_scheduler.core.workspace.subjects import check_subject, group_of, precedence, speaks_of
from hai_scheduler.core.workspace.templates import (
    PathTemplate,
    TemplateError,
    TemplateField,
    Unresolvable,
    Values,
    Wrong,
    below,
)

#: Folders of the system and of the platform: no mount may lie on them or below them.
RESERVED: Final = ("/proc", "/sys", "/dev", "/etc", "/hai", "/hai-code")
MAX_PRIORITY: Final = 1000

_CLAIM: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


class MountKind(StrEnum):
    """The kind of source of a mount."""

    #: A folder of the node.
    HOST_PATH = "host_path"
    #: A persistent volume claim of the namespace.
    PVC = "pvc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One folder that a rank sees; all templates of its rule are filled in."""

    kind: MountKind
    #: The absolute folder on the node, or the name of the claim.
    source: str
    #: Folder within the claim; empty is the whole claim.
    sub_path: str = ""
    #: Absolute, without `..`.
    mount_path: str
    read_only: bool = True


class Action(StrEnum):
    """The effect of a rule."""

    ADD = "add"
    #: Mounts of weaker rules at the mount path are left out.
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class MountRule:
    """One rule. `source` and `mount_path` are templates (core/workspace/templates.py)."""

    name: str
    #: `user:NAME`, `group:NAME` or `public`.
    subject: str
    action: Action = Action.ADD
    #: None where the rule removes.
    kind: MountKind | None = MountKind.HOST_PATH
    #: A folder of the node; or a claim and, after its first slash, a folder in it. Empty where the rule removes.
    source: str = ""
    mount_path: str
    read_only: bool = True
    #: Among rules of the same subject the one with the higher priority wins.
    priority: int = 0
    #: The node group for whose containers the rule holds; None is all.
    node_group: str | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """A mount and the rule that it comes from."""

    rule: str
    mount: Mount


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A rule that a stronger one overrules, with its mount path and the cause."""

    rule: str
    mount_path: str
    why: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """The mounts of a container, and the rules that were overruled."""

    #: By mount path, so that a folder comes before those below it.
    placed: tuple[Placed, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """The mounts without their rules."""
        return tuple(one.mount for one in self.placed)


# -- resolving ----------------------------------------------------------------------------------------


def resolve(
    rules: Iterable[MountRule], user: str, groups: Collection[str], task_id: TaskId | None, node_group: str
) -> tuple[Mount, ...]:
    """Return the mounts of a container of the user: of a task, or (None) of a development container.

    The order of the rules does not matter. Raises Unresolvable.
    """
    return explain(rules, user, groups, task_id, node_group).mounts


def explain(
    rules: Iterable[MountRule], user: str, groups: Collection[str], task_id: TaskId | None, node_group: str
) -> Resolution:
    """Return the same as `resolve`, with the rule of each mount and the overruled rules. Raises Unresolvable."""
    placed: list[Placed] = []
    left_out: list[LeftOut] = []
    strongest: dict[str, MountRule] = {}
    for rule in sorted(_applicable(rules, user, groups, task_id, node_group), key=_strength):
        values = _values(rule, user, task_id)
        path = _mount_path(rule, values)
        decided = strongest.setdefault(path, rule)
        if decided is not rule:
            left_out.append(LeftOut(rule.name, path, _why(decided)))
        elif rule.action is Action.ADD:
            placed.append(Placed(rule.name, _mount(rule, path, values)))
    return Resolution(
        tuple(sorted(placed, key=lambda one: one.mount.mount_path.split("/"))),
        tuple(sorted(left_out, key=lambda one: (one.mount_path.split("/"), one.rule))),
    )


def _applicable(
    rules: Iterable[MountRule], user: str, groups: Collection[str], task_id: TaskId | None, node_group: str
) -> Iterable[MountRule]:
    for rule in rules:
        if not speaks_of(rule.subject, user, groups) or rule.node_group not in (None, node_group):
            continue
        if task_id is None and TemplateField.TASK in _fields(rule):
            continue
        yield rule


def _strength(rule: MountRule) -> tuple[int, int, str]:
    """Return the sort key of a rule: the strongest first."""
    return precedence(rule.subject), -rule.priority, rule.name


def _values(rule: MountRule, user: str, task_id: TaskId | None) -> Values:
    values = {TemplateField.USER: user}
    group = group_of(rule.subject)
    if group is not None:
        values[TemplateField.GROUP] = group
    if task_id is not None:
        values[TemplateField.TASK] = str(task_id)
    return values


def _mount_path(rule: MountRule, values: Values) -> str:
    try:
        path = _path(rule).fill(values)
    except Unresolvable as error:
        raise Unresolvable(f"mount rule {rule.name!r}: mount_path: {error}") from None
    if reserved := _reserved(path):
        raise Unresolvable(f"mount rule {rule.name!r}: mount_path: {reserved}")
    return path


def _mount(rule: MountRule, path: str, values: Values) -> Mount:
    try:
        if rule.kind is MountKind.PVC:
            return _of_claim(rule, path, values)
        source = _folder(rule.source, rule.subject).fill(values)
    except Unresolvable as error:
        raise Unresolvable(f"mount rule {rule.name!r}: source: {error}") from None
    return Mount(kind=MountKind.HOST_PATH, source=source, mount_path=path, read_only=rule.read_only)


def _of_claim(rule: MountRule, path: str, values: Values) -> Mount:
    template = _claim(rule.source, rule.subject)
    claim, _, sub_path = template.fill(values).partition("/")
    if not _CLAIM.fullmatch(claim):
        raise Unresolvable(f"{claim[:80]!r} is not the name of a claim: small letters, digits, '-' and '.'")
    return Mount(kind=MountKind.PVC, source=claim, sub_path=sub_path, mount_path=path, read_only=rule.read_only)


def _why(stronger: MountRule) -> str:
    does = "takes it away" if stronger.action is Action.REMOVE else "is stronger"
    return f"rule {stronger.name!r} of {stronger.subject} {does}"


# -- admission ----------------------------------------------------------------------------------------


def admitted(rule: MountRule, others: Iterable[MountRule]) -> MountRule:
    """Return the rule with normalised paths if it is valid and agrees with the others. Raises Wrong."""
    if not NAME.fullmatch(rule.name):
        raise Wrong(
            "name", rule.name, "use 1 to 63 letters, digits, '.', '_' or '-', beginning with a letter or a digit"
        )
    check_subject("subject", rule.subject)
    if not -MAX_PRIORITY <= rule.priority <= MAX_PRIORITY:
        raise Wrong("priority", rule.priority, f"set it between -{MAX_PRIORITY} and {MAX_PRIORITY}")
    rule = replace(rule, mount_path=_admitted_mount_path(rule), source=_admitted_source(rule))
    _check_alone(rule, others)
    return rule


def _admitted_mount_path(rule: MountRule) -> str:
    try:
        template = _path(rule)
    except TemplateError as error:
        raise Wrong("mount_path", rule.mount_path, str(error)) from None
    if reserved := _reserved(str(template)):
        raise Wrong("mount_path", rule.mount_path, f"{reserved}: choose another folder")
    return str(template)


def _admitted_source(rule: MountRule) -> str:
    if rule.action is Action.REMOVE:
        if rule.kind is not None or rule.source:
            raise Wrong("source", rule.source or None, "a rule that removes has no source and no kind: leave them out")
        return ""
    if rule.kind is None:
        raise Wrong("kind", None, "a rule that adds mounts a host_path or a pvc: say which")
    try:
        if rule.kind is MountKind.PVC:
            return str(_checked_claim(rule))
        template = _folder(rule.source, rule.subject)
    except TemplateError as error:
        raise Wrong("source", rule.source, str(error)) from None
    if not template.components:
        raise Wrong("source", rule.source, "is the node's whole file system: name a folder in it")
    return str(template)


def _checked_claim(rule: MountRule) -> PathTemplate:
    template = _claim(rule.source, rule.subject)
    name = template.components[0].pieces if template.components else ()
    start = name[0] if name else None
    # Without fixed text in front, a user could choose a name that makes the claim of another user.
    if not isinstance(start, str) or rule.source.startswith("/"):
        raise TemplateError("write the claim's name, then if need be '/' and a folder in it; begin it with a letter")
    if not _CLAIM.fullmatch("".join(piece if isinstance(piece, str) else "x" for piece in name)):
        raise TemplateError("the claim's name, before the first '/', has small letters, digits, '-' and '.' only")
    return template


def _check_alone(rule: MountRule, others: Iterable[MountRule]) -> None:
    """Raise Wrong if only their names would decide between this rule and another one for the same mount path."""
    for other in others:
        same = (other.subject, other.priority, other.mount_path) == (rule.subject, rule.priority, rule.mount_path)
        overlap = None in (other.node_group, rule.node_group) or other.node_group == rule.node_group
        if other.name != rule.name and same and overlap:
            raise Wrong(
                "priority",
                rule.priority,
                f"rule {other.name!r} of {other.subject} says something of {other.mount_path} at the same priority: "
                "give one of them a higher priority, or another mount path",
            )


def _reserved(path: str) -> str | None:
    """Return why the path cannot be a mount path; None if it can."""
    if path == "/":
        return "nothing may cover '/'"
    if ":" in path:
        return f"{path!r} holds a ':', which no mount path can"
    folder = next((folder for folder in RESERVED if below(path, folder)), None)
    return None if folder is None else f"nothing may be mounted in {folder}"


# -- reading ------------------------------------------------------------------------------------------


def _allowed(subject: str) -> tuple[TemplateField, ...]:
    """Return the fields that a rule for the subject may use: `{group}` only if the subject is a group."""
    return tuple(TemplateField) if group_of(subject) is not None else (TemplateField.USER, TemplateField.TASK)


def _path(rule: MountRule) -> PathTemplate:
    return PathTemplate.parse(rule.mount_path, allowed=_allowed(rule.subject))


def _folder(source: str, subject: str) -> PathTemplate:
    return PathTemplate.parse(source, allowed=_allowed(subject))


def _claim(source: str, subject: str) -> PathTemplate:
    return PathTemplate.parse(source, allowed=_allowed(subject), absolute=False)


def _fields(rule: MountRule) -> frozenset[TemplateField]:
    if rule.action is Action.REMOVE:
        return _path(rule).fields
    claim = rule.kind is MountKind.PVC
    return _path(rule).fields | (_claim if claim else _folder)(rule.source, rule.subject).fields
