"""Environments: an image, a Python and variables under a name, for tasks and development containers alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.limits import NAME
from hai_scheduler.core.workspace.abi import GLIBC, MACHINE, Machine
from hai_scheduler.core.workspace.subjects import check_subject, precedence, speaks_of
from hai_scheduler.core.workspace.templates import (
    PathTemplate,
    Template,
    TemplateError,
    TemplateField,
    Unresolvable,
    Wrong,
)

#: The names that a variable may have.
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: The fields that values of variables may have. `{group}` is left out: several groups may use the same environment.
FIELDS: Final = (TemplateField.USER, TemplateField.TASK)

_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    rf"(?:(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{{0,251}}[A-Za-z0-9])?)(?::[0-9]{{1,5}})?/)?{_PART}(?:/{_PART})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
_MAX_IMAGE: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One environment. Values of `variables` are templates (core/workspace/templates.py)."""

    name: str
    #: A container image; None leaves it to the cluster.
    image: str | None = None
    #: Absolute path of a Python program; None leaves it to the image or the node.
    python: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    #: The users who may use it: `user:NAME`, `group:NAME`, `public`.
    subjects: frozenset[str] = frozenset()
    description: str = ""
    #: Whether the environment is used where its subjects choose none.
    default: bool = False
    #: The architecture of the image, such as x86_64, and its glibc, such as 2.31; empty: not known.
    machine: str = ""
    glibc: str = ""

    @property
    def abi(self) -> Machine:
        """What the image has that compiled files need, as far as an admin has said it."""
        return Machine(machine=self.machine, glibc=self.glibc, name=f"the image {self.name}")


def usable(environments: Iterable[Environment], user: str, groups: Collection[str]) -> tuple[Environment, ...]:
    """Return the environments that the user may use, in order of names."""
    mine = [one for one in environments if any(speaks_of(subject, user, groups) for subject in one.subjects)]
    return tuple(sorted(mine, key=lambda one: one.name))


def default_of(environments: Iterable[Environment], user: str, groups: Collection[str]) -> Environment | None:
    """Return the environment that users get when they choose none; None is the platform's own.

    If there are several, a default for `user:NAME` counts before one for a group, and that before a `public` one;
    ties by name.
    """
    mine = [
        (min(precedence(subject) for subject in one.subjects if speaks_of(subject, user, groups)), one.name, one)
        for one in usable(environments, user, groups)
        if one.default
    ]
    return min(mine, key=lambda entry: entry[:2])[2] if mine else None


def variables_of(environment: Environment, user: str, task_id: TaskId | None) -> dict[str, str]:
    """Return the variables of an environment for a task of the user, or (None) for a development container.

    Variables with `{task}` are left out for a development container. Raises Unresolvable.
    """
    values = (
        {TemplateField.USER: user} if task_id is None else {TemplateField.USER: user, TemplateField.TASK: str(task_id)}
    )
    filled: dict[str, str] = {}
    for name, text in environment.variables.items():
        template = Template.parse(text, allowed=FIELDS)
        if not template.fields <= values.keys():
            continue
        try:
            filled[name] = template.fill(values)
        except Unresolvable as error:
            raise Unresolvable(f"environment {environment.name!r}: variables.{name}: {error}") from None
    return filled


def admitted(environment: Environment, others: Iterable[Environment]) -> Environment:
    """Return the environment if it is valid and agrees with the others. Raises Wrong."""
    if not NAME.fullmatch(environment.name):
        raise Wrong(
            "name", environment.name, "use 1 to 63 letters, digits, '.', '_' or '-', beginning with a letter or a digit"
        )
    _check_image(environment.image)
    _check_python(environment.python)
    _check_abi(environment)
    for name, text in environment.variables.items():
        _check_variable(name, text)
    if not environment.subjects:
        raise Wrong("subjects", [], "say who may use it: public, group:NAME or user:NAME")
    for subject in sorted(environment.subjects):
        check_subject("subjects", subject)
    _check_default(environment, others)
    return environment


def _check_image(image: str | None) -> None:
    if image is not None and (len(image) > _MAX_IMAGE or not _IMAGE.fullmatch(image)):
        raise Wrong("image", image, f"{image[:80]!r} is not the name of an image: write for example quay.io/ml/torch:2")


def _check_abi(environment: Environment) -> None:
    given = {"machine": environment.machine, "glibc": environment.glibc}
    for name, pattern, example in (("machine", MACHINE, "x86_64"), ("glibc", GLIBC, "2.31")):
        value = given[name]
        if value and not re.fullmatch(pattern, value):
            raise Wrong(name, value[:80], f"{value[:80]!r} cannot be one: write for example {example}")
        if value and environment.image is None:
            raise Wrong(name, value, "is that of an image, and no image is named: name it, or leave this out")


def _check_python(python: str | None) -> None:
    if python is None:
        return
    try:
        template = PathTemplate.parse(python, allowed=())
    except TemplateError as error:
        raise Wrong("python", python, str(error)) from None
    if str(template) != python or len(template.components) < 2 or ":" in python:
        raise Wrong("python", python, f"{python[:80]!r} is not the path of a program: write /opt/torch/bin/python")


def _check_variable(name: str, text: str) -> None:
    if not VARIABLE.fullmatch(name):
        raise Wrong("variables", name, f"{name[:80]!r} is not a variable name: letters, digits and '_', no digit first")
    try:
        Template.parse(text, allowed=FIELDS)
    except TemplateError as error:
        # The message does not repeat the value, which may be a secret.
        raise Wrong(f"variables.{name}", None, str(error)) from None
    if "\0" in text:
        raise Wrong(f"variables.{name}", None, "holds a NUL character: remove it")


def _check_default(environment: Environment, others: Iterable[Environment]) -> None:
    """Raise Wrong if a subject would have two defaults."""
    if not environment.default:
        return
    for other in others:
        shared = sorted(other.subjects & environment.subjects)
        if other.name != environment.name and other.default and shared:
            raise Wrong(
                "default",
                True,
                f"environment {other.name!r} is the default of {shared[0]} already: change that one first",
            )
