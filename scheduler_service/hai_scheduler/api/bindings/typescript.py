"""Writes the panel's module of interfaces, in the layout of prettier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

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

_PLAIN: Final = {
    "str": "string",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "time": "string",
    "any": "unknown",
    "null": "null",
}
#: `printWidth` of lab_extension/.prettierrc.
WIDTH: Final = 110


def interfaces(models: Sequence[Model], *, names: Mapping[str, str], words: Mapping[tuple[str, ...], str]) -> str:
    """Return the text of the interfaces.

    Args:
        models: What is written.
        names: The name of the interface, by the name of the model.
        words: Names of types that stand for some words, by these words.
    """
    return "\n".join(line for model in models for line in ("", *_interface(model, names, words)))


def _interface(model: Model, names: Mapping[str, str], words: Mapping[tuple[str, ...], str]) -> Iterator[str]:
    yield from comment(" ".join(line for line in model.doc if line), "")
    yield f"export interface {names[model.name]}{f' extends {names[model.base]}' if model.base else ''} {{"
    for field in model.fields:
        yield from comment(field.comment, "  ")
        yield from _field(field, names, words, optional=model.sent and not field.required)
    yield "}"


def _field(
    field: ModelField, names: Mapping[str, str], words: Mapping[tuple[str, ...], str], *, optional: bool
) -> Iterator[str]:
    start = f"  {field.name}{'?' if optional else ''}:"
    parts = _parts(field.shape, names, words)
    yield from union(start, parts, "  ")


def comment(text: str, indent: str) -> Iterator[str]:
    """Yield the lines of a comment; none for an empty text."""
    if text:
        yield f"{indent}/** {text.replace('None', 'null')} */"


def union(start: str, parts: Sequence[str], indent: str) -> Iterator[str]:
    """Write `start a | b;` in one line, in two, or with a line for each part: the first that is short enough."""
    together = f"{' | '.join(parts)};"
    line = f"{start} {together}"
    if len(line) <= WIDTH:
        yield line
        return
    yield start
    if len(second := f"{indent}  {together}") <= WIDTH:
        yield second
        return
    yield from (f"{indent}  | {part}" for part in parts[:-1])
    yield f"{indent}  | {parts[-1]};"


def _parts(shape: Shape, names: Mapping[str, str], words: Mapping[tuple[str, ...], str]) -> list[str]:
    match shape:
        case OneOf(parts):
            # null comes last.
            ordered = [part for part in parts if part != NULL] + [part for part in parts if part == NULL]
            return [word for part in ordered for word in _parts(part, names, words)]
        case TextChoice(values):
            return [words[values]] if values in words else [quoted(value) for value in values]
        case PlainValue(name):
            return [_PLAIN[name]]
        case Several(of):
            inner = _parts(of, names, words)
            return [f"{inner[0]}[]" if len(inner) == 1 else f"({' | '.join(inner)})[]"]
        case Table(of):
            return [f"Record<string, {' | '.join(_parts(of, names, words))}>"]
        case Reference(model):
            return [names[model]]


def quoted(text: str) -> str:
    """Return a text as a string literal of TypeScript."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
