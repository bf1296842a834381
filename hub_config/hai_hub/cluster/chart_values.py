"""Walk through the values of the chart as its schema describes them, and find the mistakes in a values file.

The schema of the chart is the one place that describes a value: the comments of `values.yaml`, `hai cluster config`,
docs/reference/values.md and every error come from it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

Schema = Mapping[str, Any]

#: Values of zero-to-jupyterhub that this chart lacks, and what to do instead.
ELSEWHERE: Final[Mapping[str, str]] = {
    "cull.adminUsers": "leave it out: servers of administrators end as all do",
    "cull.concurrency": "leave it out",
    "cull.every": "leave it out: HAI looks often enough to warn in time",
    "cull.removeNamedServers": "leave it out: named servers are kept for their next start",
    "cull.users": "leave it out: HAI removes no users",
    "custom": "leave it out: no chart value is kept for extraConfig; write the text there",
    "hub.db.password": "write the address with its password into a Secret and name it in hub.db.existingSecret",
    "prePuller": "leave it out: nodes pull images when they need them",
    "proxy.https.letsencrypt": "let your Ingress get certificates, and set ingress.tls",
    "proxy.https.manual": "put the certificate into a TLS Secret and name it in proxy.https.secret.name",
    "proxy.traefik": "let your Ingress get certificates, and set ingress.tls",
    "scheduling": "leave it out: training pods are placed by HAI; use nodeSelector, affinity and tolerations elsewhere",
    "singleuser.cloudMetadata": "leave it out: the NetworkPolicy closes the metadata server",
    "singleuser.profileList": "describe the choices as sizes in singleuser.sizes",
    "singleuser.networkTools": "leave it out: the NetworkPolicy closes the metadata server",
}


@dataclass(frozen=True, slots=True)
class Value:
    """One value as the schema describes it."""

    path: str  #: Name of the value, with dots between the levels.
    default: Any  #: The default value.
    schema: Schema  #: The schema of this value.
    table: bool  #: Whether the value is a table of other values.


def walk(values: Mapping[str, Any], schema: Schema, above: str = "") -> Iterator[Value]:
    """Yield every value in the order of the schema, a table before the values in it."""
    for name, part in schema["properties"].items():
        path = f"{above}{name}"
        table = "properties" in part
        yield Value(path, values[name], part, table)
        if table:
            yield from walk(values[name], part, path + ".")


def json_like(value: object) -> str:
    """Return a value as one line of YAML."""
    style = '"' if isinstance(value, str) else None
    text = yaml.safe_dump(value, default_style=style, default_flow_style=True, width=10**6, sort_keys=False)
    return str(text).removesuffix("\n...\n").strip()


def problems(text: str, schema: Schema, *, file: str) -> list[str]:
    """Return the mistakes in a values file, a sentence for each: file, line, name, value and remedy.

    Args:
        text: The file's text.
        schema: The schema of the chart.
        file: The file's name, for the sentences.
    """
    # Importing jsonschema takes a quarter of a second: other verbs should not pay for it.
    from jsonschema import Draft7Validator

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return [f"{file}: is not YAML: {' '.join(str(error).split())}"]
    if values is None:
        return []
    if not isinstance(values, dict):
        return [f"{file}: holds {type(values).__name__}; write names and values such as `debug: {{enabled: true}}`"]
    found: list[tuple[int, str]] = []
    for wrong in Draft7Validator(schema).iter_errors(values):
        for path, said in _said(wrong):
            line = _line(root, path)
            found.append((line, f"{file}, line {line}: {'.'.join(map(str, path))}: {said}"))
    return [sentence for _, sentence in sorted(found)]


def _said(error: Any) -> Iterator[tuple[list[str | int], str]]:
    """Yield the path of each value that an error of the schema is about, and the sentence to say of it."""
    place = list(error.absolute_path)
    if error.validator == "additionalProperties" and error.validator_value is False:
        known = error.schema["properties"]
        for name in error.instance:
            if name not in known:
                yield [*place, name], _unknown([*map(str, place), str(name)], list(known))
    elif error.validator == "propertyNames" or "propertyNames" in error.absolute_schema_path:
        yield [*place, error.instance], f"{error.instance!r} is no class; write for example JupyterHub or Authenticator"
    elif error.validator == "enum":
        choices = ", ".join(json_like(choice) for choice in error.validator_value)
        yield place, f"is {json_like(error.instance)}; write one of {choices}"
    elif error.validator == "type":
        kinds = [error.validator_value] if isinstance(error.validator_value, str) else error.validator_value
        yield place, f"is {json_like(error.instance):.60}; it takes {kind_words(kinds)}"
    else:
        yield place, f"{' '.join(error.message.split()):.160}; see docs/reference/values.md"


def _unknown(path: Sequence[str], known: Sequence[str]) -> str:
    if (remedy := ELSEWHERE.get(".".join(path))) is not None:
        return f"is zero-to-jupyterhub's alone: {remedy}"
    near = difflib.get_close_matches(path[-1], known, n=1)
    if near:
        return f"there is no such value; did you mean {near[0]}?"
    return f"there is no such value; here are {', '.join(sorted(known))}"


def kind_words(kinds: Sequence[str]) -> str:
    """Return the names of JSON types in words."""
    words = {"array": "a list", "boolean": "true or false", "integer": "a whole number", "null": "null"}
    words |= {"number": "a number", "object": "a table", "string": "a text"}
    return " or ".join(words[kind] for kind in kinds)


def _line(node: yaml.Node | None, path: Sequence[str | int]) -> int:
    """Return the line of the deepest part of the path that is in the file."""
    line = 1 if node is None else node.start_mark.line + 1
    for step in path:
        if isinstance(node, yaml.MappingNode):
            pair = next(((key, value) for key, value in node.value if key.value == str(step)), None)
            if pair is None:
                return line
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
            line = node.start_mark.line + 1
        else:
            return line
    return line
