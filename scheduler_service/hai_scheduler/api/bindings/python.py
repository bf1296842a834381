"""Writes the client's modules of dataclasses, which need only the standard library and run on Python 3.8."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from textwrap import wrap
from typing import Any, Final

from hai_scheduler.api.bindings.catalogue import (
    NULL,
    Model,
    ModelField,
    OneOf,
    PlainValue,
    Reference,
    Several,
    Shape,
    Table,
    TextChoice,
)
from hai_scheduler.api.bindings.constants import WORDS

_PLAIN: Final = {"str": "str", "int": "int", "float": "float", "bool": "bool", "time": "datetime", "any": "Any"}
_WIDTH: Final = 120


def module(
    doc: str,
    models: Sequence[Model],
    *,
    names: Mapping[str, str],
    homes: Mapping[str, str],
    home: str,
    asked: AbstractSet[tuple[str, str]],
) -> str:
    """Return the text of a module of frozen dataclasses.

    Args:
        doc: The docstring of the module.
        models: The models that the module defines, bases first.
        names: The name of the class, by the name of the model.
        homes: The module of each class, by the name of the model.
        home: The name of this module.
        asked: Fields (model, name) that are required although they can be null.
    """
    classes = [line for model in models for line in ("", "", *_class(model, names, asked))]
    body = "\n".join(classes)
    return "\n".join([f'"""{doc}\n"""', "", *_imports(body, models, names, homes, home), body, ""])


def _imports(
    body: str, models: Iterable[Model], names: Mapping[str, str], homes: Mapping[str, str], home: str
) -> Iterator[str]:
    yield "from __future__ import annotations"
    yield ""
    standard = [
        line
        for word, line in (
            ("field(", "from dataclasses import field"),
            ("datetime", "from datetime import datetime"),
            ("Any", "from typing import Any"),
        )
        if re.search(rf"(?<!\w){re.escape(word)}", body)
    ]
    yield from [*standard, ""] if standard else []
    yield "from hai_client.backports import dataclass"
    needed = {name for model in models for field in model.fields for name in _references(field.shape)}
    for other in sorted({homes[name] for name in needed} - {home}):
        found = sorted(names[name] for name in needed if homes[name] == other)
        yield f"from hai_client.wire.{other} import {', '.join(found)}"


def _references(shape: Shape) -> Iterator[str]:
    match shape:
        case Reference(model):
            yield model
        case Several(of) | Table(of):
            yield from _references(of)
        case OneOf(parts):
            for part in parts:
                yield from _references(part)


def _class(model: Model, names: Mapping[str, str], asked: AbstractSet[tuple[str, str]]) -> Iterator[str]:
    yield "@dataclass(frozen=True, slots=True, kw_only=True)"
    yield f"class {names[model.name]}{f'({names[model.base]})' if model.base else ''}:"
    first, *more = [_in_python(line) for line in model.doc]
    if more:
        yield f'    """{first}'
        yield from (f"    {line}".rstrip() for line in more)
        yield '    """'
    else:
        yield f'    """{first}"""'
    yield ""
    for field in model.fields:
        must = (model.name, field.name) in asked
        yield from _commented(
            f"    {field.name}: {_type(field.shape, names)}{_default(field, must=must)}", _in_python(_comment(field))
        )


def _commented(line: str, comment: str) -> Iterator[str]:
    """Yield a field with its comment: beside it where there is room, else above it."""
    beside = f"{line}  #: {comment}"
    if comment and len(beside) > _WIDTH:
        yield from (f"    #: {part}" for part in wrap(comment, _WIDTH - 7))
    yield beside if comment and len(beside) <= _WIDTH else line


def _comment(field: ModelField) -> str:
    """Return the comment of a field, with its allowed words if no type shows them."""
    parts = [part for part in getattr(field.shape, "parts", (field.shape,)) if part != NULL]
    words = parts[0].values if len(parts) == 1 and isinstance(parts[0], TextChoice) else ()
    if words in WORDS or all(re.search(rf"\b{word}\b", field.comment) for word in words):
        return field.comment
    return f"{field.comment} One of {', '.join(words)}.".lstrip()


def _in_python(text: str) -> str:
    """Return a text with None for JSON's null."""
    return re.sub(r"\bnull\b", "None", text)


def _type(shape: Shape, names: Mapping[str, str]) -> str:
    match shape:
        case PlainValue(name):
            return _PLAIN[name] if shape != NULL else "None"
        case Several(of):
            return f"tuple[{_type(of, names)}, ...]"
        case Table(of):
            return f"dict[str, {_type(of, names)}]"
        case Reference(model):
            return names[model]
        case OneOf(parts):
            # None comes last, and the words of several literals are one `str`.
            found = dict.fromkeys(_type(part, names) for part in (*(p for p in parts if p != NULL), NULL))
            return " | ".join(found if NULL in parts else [one for one in found if one != "None"])
        case _:
            return "str"


def _default(field: ModelField, *, must: bool) -> str:
    if field.required:
        # The service always sends the field; in an answer without it, it counts as null.
        return " = None" if field.nullable and not must else ""
    return f" = {_value(field.default)}"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "field(default_factory=dict)"
    if isinstance(value, list):
        return "()"
    return '"' + value + '"' if isinstance(value, str) else repr(value)
