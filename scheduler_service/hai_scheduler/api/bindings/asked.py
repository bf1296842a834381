"""Writes what client and panel know of the fields that are asked for by their definition alone (`asked_fields`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json import dumps

from hai_scheduler.api.bindings.typescript import quoted
from hai_scheduler.api.wire.values import wire_name
from hai_scheduler.service.shared.sent_as import fields_of
from hai_scheduler.service.tasks.asked_fields import AskedField
from hai_scheduler.service.tasks.submission import Submission


def in_python(doc: str, asked: Sequence[AskedField]) -> str:
    """Write the client's module."""
    lines = [
        f'"""{doc}\n"""',
        "",
        "from __future__ import annotations",
        "",
        "from hai_client.cli.language.catalogue import label",
    ]
    lines += ["from hai_client.cli.shared.asked import TaskOption", "", "ASKED_FIELDS = ("]
    for one in asked:
        lines += [
            "    TaskOption(",
            *(f"        {name}={value}," for name, value in _values(one, python=True)),
            "    ),",
        ]
    return "\n".join([*lines, ")", ""])


def in_typescript(doc: str, asked: Sequence[AskedField]) -> str:
    """Write the panel's module."""
    known = [one.wire for one in fields_of(Submission).values()]
    lines = [
        f"/** {doc} */",
        "",
        "import type { IAskedField } from './askedField';",
        "import { trans } from './translate';",
        "",
    ]
    lines += [f"/** The fields of `I{wire_name(Submission)}`. */", "export const SUBMIT_FIELDS = ["]
    lines += [f"  {quoted(name)}{',' if name != known[-1] else ''}" for name in known]
    lines += ["] as const;", "", "export const ASKED_FIELDS = ["]
    for place, one in enumerate(asked, 1):
        values = list(_values(one, python=False))
        lines += ["  {", *(f"    {name}: {value}{',' if name != 'help' else ''}" for name, value in values)]
        lines += ["  }" + ("," if place < len(asked) else "")]
    lines += ["] as const satisfies readonly IAskedField[];", "", "/** Their values where nothing is said. */"]
    lines += ["export const ASKED_DEFAULTS = {"]
    lines += [
        f"  {one.wire}: {_typescript(one.default)}{',' if place < len(asked) else ''}"
        for place, one in enumerate(asked, 1)
    ]
    return "\n".join([*lines, "} as const;", ""])


def _values(one: AskedField, *, python: bool) -> Iterator[tuple[str, str]]:
    say = repr if python else _typescript
    yield "name", _text(one.wire, python=python)
    yield "kind", _text(one.kind, python=python)
    if python:
        yield "words", f"({', '.join(map(dumps, one.words))}{',' if len(one.words) == 1 else ''})"
    else:
        yield "words", f"[{', '.join(map(quoted, one.words))}]"
    yield "least", say(one.least)
    yield "most", say(one.most)
    yield "default", _text(one.default, python=python) if isinstance(one.default, str) else say(one.default)
    told = f"{one.help[:1].upper()}{one.help[1:]}."
    if python:
        yield "label", f"lambda: label({dumps(one.label)})"
        yield "help", dumps(one.help)
    else:
        yield "label", f"() => trans.__({quoted(one.label)})"
        yield "help", f"() => trans.__({quoted(told)})"


def _text(text: str, *, python: bool) -> str:
    return dumps(text) if python else quoted(text)


def _typescript(value: object) -> str:
    return quoted(value) if isinstance(value, str) else dumps(value)
