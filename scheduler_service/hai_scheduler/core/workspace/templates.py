"""Texts with `{user}`, `{group}` and `{task}` in them, and paths made of such texts.

The parser is our own and knows only these three fields: attributes, indexes, conversions, formats and expressions are
errors. A path is split into its components before fields are filled in, and a value with a slash is refused. So no
name of a user or a group can make a path leave the folders that are written in its rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Self

from hai_scheduler.core.model.limits import HIDDEN

#: The limits of Linux, in bytes.
MAX_COMPONENT: Final = 255
MAX_PATH: Final = 4095

_TOKEN: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class Wrong(ValueError):
    """A field of a rule, or of an environment, is wrong. The message names the mistake and the remedy."""

    def __init__(self, field: str, value: object, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.value = value
        #: The message without the field's name.
        self.message = message


class TemplateError(ValueError):
    """A text is not a template. The message names the mistake and the remedy."""


class Unresolvable(ValueError):
    """A value cannot be filled in safely. The message says which value, where and why."""


class TemplateField(Enum):
    """The fields of a template."""

    #: The name of the user.
    USER = "user"
    #: The name of the group that a rule is for.
    GROUP = "group"
    #: The number of the task.
    TASK = "task"


#: The name of each field in messages.
_CALLED: Final = {TemplateField.USER: "user name", TemplateField.GROUP: "group name", TemplateField.TASK: "task number"}

Values = Mapping[TemplateField, str]


@dataclass(frozen=True, slots=True)
class Template:
    """A text with fields; `{{` and `}}` stand for literal braces."""

    #: Literal texts, and fields between them.
    pieces: tuple[str | TemplateField, ...]

    @classmethod
    def parse(cls, text: str, *, allowed: Collection[TemplateField] = tuple(TemplateField)) -> Self:
        """Read a template. Raises TemplateError."""
        pieces: list[str | TemplateField] = []
        literal, at = "", 0
        for match in _TOKEN.finditer(text):
            literal += text[at : match.start()]
            at = match.end()
            if match[0] in ("{{", "}}"):
                literal += match[0][0]
            elif match[1] is None:
                raise TemplateError(f"there is a single {match[0]!r}: write {match[0] * 2!r} for a brace that is meant")
            else:
                pieces += [literal, _field(match[1], allowed)]
                literal = ""
        pieces.append(literal + text[at:])
        return cls(tuple(piece for piece in pieces if piece))

    @property
    def fields(self) -> frozenset[TemplateField]:
        """The fields that have to be filled in."""
        return frozenset(piece for piece in self.pieces if isinstance(piece, TemplateField))

    def fill(self, values: Values) -> str:
        """Return the text with all fields filled in.

        Raises:
            Unresolvable: A value is not a safe part of a path.
            KeyError: A value is missing.
        """
        return "".join(
            [safe(piece, values[piece]) if isinstance(piece, TemplateField) else piece for piece in self.pieces]
        )


def _field(name: str, allowed: Collection[TemplateField]) -> TemplateField:
    known = ", ".join(f"{{{field.value}}}" for field in TemplateField if field in allowed) or "none"
    field = next((field for field in TemplateField if field.value == name), None)
    if field is None:
        why = "is not known"
        if "!" in name:
            why = "has a conversion (after '!'), which is not allowed"
        elif ":" in name:
            why = "has a format (after ':'), which is not allowed"
        elif "." in name or "[" in name:
            why = "looks into something, which is not allowed"
        raise TemplateError(f"{{{name}}} {why}: the fields here are {known}; write {{{{ for a brace that is meant")
    if field not in allowed:
        raise TemplateError(f"{{{name}}} means nothing here: the fields here are {known}")
    return field


def safe(field: TemplateField, value: str) -> str:
    """Return the value if it is a safe part of a path. Raises Unresolvable."""
    what = f"{_CALLED[field]} {value[:80]!r}"
    if not value:
        raise Unresolvable(f"the {_CALLED[field]} is empty")
    if value == "." or ".." in value or "/" in value:
        raise Unresolvable(f"the {what} cannot be part of a path: it holds '/' or '..', or is '.'")
    if HIDDEN.search(value) or "{" in value or "}" in value:
        raise Unresolvable(f"the {what} cannot be part of a path: it holds a brace or a control character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Unresolvable(f"the {what} cannot be part of a path: it is no valid text") from None
    return value


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """A path with fields, component by component. `absolute` is false for a folder within a claim."""

    components: tuple[Template, ...]
    absolute: bool = True

    @classmethod
    def parse(
        cls, text: str, *, allowed: Collection[TemplateField] = tuple(TemplateField), absolute: bool = True
    ) -> Self:
        """Read a path. Doubled and trailing slashes are dropped. Raises TemplateError."""
        if absolute and not text.startswith("/"):
            raise TemplateError(f"{text[:80]!r} is not absolute: begin it with '/'")
        if HIDDEN.search(text):
            raise TemplateError("holds a control character: remove it")
        if len(text) > MAX_PATH:
            raise TemplateError(f"is longer than {MAX_PATH} characters: shorten it")
        components = tuple(Template.parse(part, allowed=allowed) for part in text.split("/") if part)
        for component in components:
            _check_component(component)
        if absolute and components and components[0].fields:
            raise TemplateError(
                f"{text[:80]!r} begins with a field: begin with a folder that is the same for all users"
            )
        return cls(components, absolute)

    @property
    def fields(self) -> frozenset[TemplateField]:
        """The fields that have to be filled in."""
        return frozenset().union(*(component.fields for component in self.components))

    @property
    def prefix(self) -> str:
        """The folders before the first one with a field; every path that `fill` returns lies in them."""
        return self._join(self._literal())

    def __str__(self) -> str:
        return self._join(["".join(map(_written, component.pieces)) for component in self.components])

    def fill(self, values: Values) -> str:
        """Return the path with all fields filled in, normalised and below `prefix`. Raises Unresolvable."""
        made = [component.fill(values) for component in self.components]
        literal = self._literal()
        # Both hold by construction; checked again, since a mistake above could give a user the folder of another.
        if made[: len(literal)] != literal or any(part in ("", ".", "..") or "/" in part for part in made):
            raise Unresolvable(f"{self} does not stay in {self.prefix}")
        path = self._join(made)
        if len(path.encode()) > MAX_PATH or any(len(part.encode()) > MAX_COMPONENT for part in made):
            raise Unresolvable(f"{self} becomes longer than a path may be")
        return path

    def _literal(self) -> list[str]:
        first = next((at for at, one in enumerate(self.components) if one.fields), len(self.components))
        return ["".join(map(_written, component.pieces)) for component in self.components[:first]]

    def _join(self, parts: Sequence[str]) -> str:
        return f"/{'/'.join(parts)}" if self.absolute else "/".join(parts)


def _written(piece: str | TemplateField) -> str:
    return f"{{{piece.value}}}" if isinstance(piece, TemplateField) else piece


def _check_component(component: Template) -> None:
    literals = [piece for piece in component.pieces if not isinstance(piece, TemplateField)]
    if any("{" in piece or "}" in piece for piece in literals):
        raise TemplateError("holds a brace that belongs to no field: a path cannot, remove it")
    if any(".." in piece for piece in literals) or component.pieces == (".",):
        raise TemplateError("holds '..', or '.' as a folder: write the path without it")


def below(path: str, folder: str) -> bool:
    """Whether the path is the folder or lies in it; both absolute and normalised."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
