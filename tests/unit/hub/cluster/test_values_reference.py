"""The page of the chart's values, made from a schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from hai_hub.cluster.chart import Chart
from hai_hub.cluster.values_reference import main, reference

SCHEMA = {
    "properties": {
        "name": {"description": "The name.", "type": "string"},
        "hub": {
            "description": "The Hub.",
            "properties": {
                "level": {"description": "How much.", "enum": ["", "info"]},
                "db": {"description": "The database.", "properties": {"size": {
                    "description": "Bytes | gigabytes.", "type": ["string", "null"],
                }}},
                "pattern": {"description": "A pattern.", "type": "string"},
            },
        },
        "last": {"description": "The last.", "type": "boolean"},
    }
}  # fmt: skip
VALUES = {"name": "", "hub": {"level": "info", "db": {"size": "1Gi"}, "pattern": "a|b"}, "last": False}


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page of a chart with these values."""
    (tmp_path / "values.schema.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(VALUES))
    monkeypatch.setattr(Chart, "find", classmethod(lambda cls: cls(tmp_path)))
    return reference()


def test_values_without_a_table_are_first_and_each_table_is_a_section(page: str) -> None:
    assert page.startswith("# Values of the chart\n")
    assert page[page.index("## For everything") :] == (
        "## For everything\n\n"
        "| value | default | meaning |\n|---|---|---|\n"
        "| `name` |  | The name. Takes a text. |\n"
        "| `last` | `false` | The last. Takes true or false. |\n\n"
        "## hub\n\nThe Hub.\n\n"
        "| value | default | meaning |\n|---|---|---|\n"
        '| `hub.level` | `"info"` | How much. One of empty, `info`. |\n'
        "| `hub.db` |  | The database. |\n"
        '| `hub.db.size` | `"1Gi"` | Bytes \\| gigabytes. Takes a text or null. |\n'
        '| `hub.pattern` | `"a\\|b"` | A pattern. Takes a text. |\n'
    )


def test_the_program_prints_the_page_and_nothing_else(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert capsys.readouterr().out == page
