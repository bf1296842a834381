"""Walking through values as a schema describes them, and the mistakes in a values file."""

from __future__ import annotations

from typing import Any

import pytest

from hai_hub.cluster.chart_values import ELSEWHERE, json_like, kind_words, problems, walk

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "debug": {"type": "boolean"},
        "hub": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "replicas": {"type": "integer", "minimum": 1},
                "image": {"type": ["string", "null"]},
                "level": {"enum": ["", "info", 7]},
                "config": {"type": "object", "propertyNames": {"pattern": "^[A-Z]"}},
                "args": {"type": "array", "items": {"type": "string"}},
            },
        },
        "proxy": {"type": "object", "additionalProperties": False, "properties": {"https": {
            "type": "object", "additionalProperties": False, "properties": {"secret": {"type": "string"}},
        }}},
    },
}  # fmt: skip
VALUES: dict[str, Any] = {
    "proxy": {"https": {"secret": ""}},
    "hub": {"args": [], "config": {}, "image": None, "level": "", "replicas": 1},
    "debug": False,
}


_LISTED = "line 4: hub.xyz: there is no such value; here are args, config, image, level, replicas"
_NO_CLASS = "line 3: hub.config.hub: 'hub' is no class; write for example JupyterHub or Authenticator"


def found(text: str) -> list[str]:
    """The mistakes, without the file's name, which each begins with."""
    sentences = problems(text, SCHEMA, file="v.yaml")
    assert all(sentence.startswith("v.yaml") for sentence in sentences)
    return [sentence.removeprefix("v.yaml").lstrip(",: ") for sentence in sentences]


def test_values_come_in_the_schemas_order_with_a_table_before_what_is_in_it() -> None:
    assert [(value.path, value.default, value.table) for value in walk(VALUES, SCHEMA)] == [
        ("debug", False, False),
        ("hub", VALUES["hub"], True),
        ("hub.replicas", 1, False),
        ("hub.image", None, False),
        ("hub.level", "", False),
        ("hub.config", {}, False),
        ("hub.args", [], False),
        ("proxy", VALUES["proxy"], True),
        ("proxy.https", {"secret": ""}, True),
        ("proxy.https.secret", "", False),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"), (True, "true"), (7, "7"), ("", '""'), ("7", '"7"'), ("yes", '"yes"'), ([], "[]"), ({}, "{}"),
        ([1, "a"], "[1, a]"), ({"b": 1, "a": None}, "{b: 1, a: null}"), ("a\nb", '"a\\nb"'),
        ("w " * 99, f'"{"w " * 99}"'),
    ],
    ids=repr,
)  # fmt: skip
def test_a_value_is_one_line_of_yaml(value: object, text: str) -> None:
    assert json_like(value) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "{}",
        "debug: true",
        "hub: {replicas: 2, image: null, level: 7}",
        "hub: {config: {JupyterHub: {}}}",
    ],
)
def test_what_is_right_has_no_mistakes(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hubb: 1", "line 1: hubb: there is no such value; did you mean hub?"),
        ("\n\nhub:\n  xyz: 1", _LISTED),
        ("7: 1", "line 1: 7: there is no such value; here are debug, hub, proxy"),
        ("hub: {level: loud}", 'line 1: hub.level: is "loud"; write one of "", "info", 7'),
        ("hub:\n  replicas: 1.5", "line 2: hub.replicas: is 1.5; it takes a whole number"),
        ("hub:\n  image: [a]", "line 2: hub.image: is [a]; it takes a text or null"),
        ("hub:\n  args:\n  - a\n  - 7", "line 4: hub.args.1: is 7; it takes a text"),
        ("hub: {replicas: 0}", "line 1: hub.replicas: 0 is less than the minimum of 1; see docs/reference/values.md"),
        ("hub:\n  config:\n    hub: {}", _NO_CLASS),
        ("debug:\n", "line 1: debug: is null; it takes true or false"),
        ("[]", "holds list; write names and values such as `debug: {enabled: true}`"),
        ("text", "holds str; write names and values such as `debug: {enabled: true}`"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line_and_a_remedy(text: str, said: str) -> None:
    assert found(text) == [said]


def test_every_mistake_is_named_in_the_order_of_the_file() -> None:
    text = "proxy: 1\nhub:\n  replicas: 0\n  level: 1\nnone: 1\n"
    assert [sentence.partition(":")[0] for sentence in found(text)] == ["line 1", "line 3", "line 4", "line 5"]


@pytest.mark.parametrize(
    "text",
    ["hub: [", "a: b: c", "hub: *x", "!!python/object/apply:os.system ['true']", "\t- a", "a: 1\n---\nb: 2", "\x00"],
)
def test_what_is_no_yaml_is_said_in_one_line_and_nothing_of_it_runs(text: str) -> None:
    (said,) = found(text)
    assert said.startswith("is not YAML: ")
    assert "\n" not in said


def test_names_of_zero_to_jupyterhub_have_a_remedy_at_each_level() -> None:
    assert found("cull: {}") == ["line 1: cull: there is no such value; here are debug, hub, proxy"]
    assert found("prePuller: {}") == [f"line 1: prePuller: is zero-to-jupyterhub's alone: {ELSEWHERE['prePuller']}"]
    deep = ELSEWHERE["proxy.https.manual"]
    assert found("proxy: {https: {manual: {}}}") == [
        f"line 1: proxy.https.manual: is zero-to-jupyterhub's alone: {deep}"
    ]


def test_a_long_value_is_cut() -> None:
    (said,) = found(f"debug: {'x' * 5000}")
    assert len(said) < 150
    assert said.endswith("; it takes true or false")


def test_kinds_are_told_in_words() -> None:
    assert kind_words(["array", "object", "number", "boolean"]) == "a list or a table or a number or true or false"
