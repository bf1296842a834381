"""The values file and its schema say the same, and a wrong value is refused by its name."""

from __future__ import annotations

import json
import subprocess
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import yaml

from hai_hub.cluster.chart import Chart
from hai_hub.cluster.chart_values import ELSEWHERE, Schema, json_like, problems, walk
from kit.helm.matrix import MATRIX
from kit.helm.rendering import CHART

SHIPPED = Chart(CHART)
#: Width of the comments in values.yaml, columns.
WIDTH = 110
HEAD = """\
# Values of the HAI chart. Names are those of zero-to-jupyterhub wherever the thing is the same.
# The comments are made from values.schema.json, by which Helm checks what you write (docs/reference/values.md).
"""
ALL = pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())


def commented(values: Mapping[str, Any], schema: Schema) -> str:
    """Return the text of a values file with the schema's description above each value."""
    lines = [HEAD.rstrip()]
    for value in walk(values, schema):
        depth = value.path.count(".")
        indent = "  " * depth
        if depth == 0 and value.table:
            lines.append("")
        width = WIDTH - len(indent)
        lines += [f"{indent}# {line}" for line in textwrap.wrap(comment(value.schema), width)]
        name = value.path.rpartition(".")[2]
        lines.append(f"{indent}{name}:" if value.table else f"{indent}{name}: {json_like(value.default)}")
    return "\n".join(lines) + "\n"


def comment(schema: Schema) -> str:
    said, choices = str(schema["description"]), schema.get("enum")
    return f"{said} One of {', '.join(json_like(choice) for choice in choices)}." if choices else said


def tables(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if "properties" in schema:
        yield path, schema
        for name, part in schema["properties"].items():
            yield from tables(part, f"{path}.{name}".strip("."))


def keys(values: dict[str, Any], schema: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, value in values.items():
        here = f"{path}.{name}".strip(".")
        part = schema["properties"].get(name)
        assert part is not None, f"{here} is not in the schema"
        yield here
        if "properties" in part:
            yield from keys(value, part, here)


def test_the_schema_covers_every_value_and_no_other() -> None:
    in_values = set(keys(SHIPPED.values, SHIPPED.schema))
    in_schema = {value.path for value in walk(SHIPPED.values, SHIPPED.schema)}
    assert in_values == in_schema


def test_every_table_is_closed_and_everything_is_described() -> None:
    for path, table in tables(SHIPPED.schema):
        assert table["additionalProperties"] is False, path
        for name, part in table["properties"].items():
            assert part["description"].endswith("."), f"{path}.{name}"


def test_the_comments_of_the_values_file_are_the_schemas() -> None:
    assert commented(SHIPPED.values, SHIPPED.schema) == SHIPPED.text


@ALL
def test_what_helm_takes_is_right_for_us_too(values: dict[str, Any]) -> None:
    assert problems(yaml.safe_dump(values), SHIPPED.schema, file="values.yaml") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hub:\n  concurentSpawnLimit: 3\n", "line 2: hub.concurentSpawnLimit: there is no such value; did you mean"),
        ("hub:\n  db:\n    type: oracle\n", 'line 3: hub.db.type: is "oracle"; write one of "bundled"'),
        ("debug: {enabled: yes please}\n", 'debug.enabled: is "yes please"; it takes true or false'),
        ("hub: {config: {jupyterhub: {}}}\n", "hub.config.jupyterhub: 'jupyterhub' is no class"),
        ("prePuller: {}\n", "prePuller: is zero-to-jupyterhub's alone: leave it out"),
        ("scheduler: {replicas: 0}\n", "scheduler.replicas: 0 is less than the minimum of 1"),
        ("hub: [\n", "is not YAML"),
        ("- 1\n", "holds list; write names and values"),
    ],
    ids=["misspelt", "choice", "type", "class", "z2jh", "least", "yaml", "list"],
)
def test_a_wrong_value_is_named_with_its_line_and_a_remedy(text: str, said: str) -> None:
    (found,) = problems(text, SHIPPED.schema, file="values.yaml")
    assert found.startswith("values.yaml")
    assert said in found


def test_helm_refuses_a_misspelt_value_by_its_name(
    run_helm: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    for values, name in (({"hubb": {}}, "hubb"), ({"scheduler": {"replica": 2}}, "replica")):
        result = run_helm("template", "hai", str(CHART), values=values)
        assert result.returncode != 0
        assert f"'{name}' not allowed" in result.stderr


def test_names_of_zero_to_jupyterhub_that_are_explained_are_none_of_ours() -> None:
    ours = {value.path for value in walk(SHIPPED.values, SHIPPED.schema)}
    assert not ours & set(ELSEWHERE)


def test_versions_agree() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = (CHART.parents[1] / "pyproject.toml").read_text()
    assert f'version = "{chart["version"]}"' in project
    assert chart["appVersion"] == chart["version"]


def test_the_schema_is_written_as_json_is() -> None:
    text = (CHART / "values.schema.json").read_text(encoding="utf-8")
    assert text == json.dumps(SHIPPED.schema, indent=2, ensure_ascii=False) + "\n"
