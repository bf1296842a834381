"""Write docs/reference/values.md: `python -m hai_hub.cluster.values_reference > docs/reference/values.md`."""

from __future__ import annotations

import sys

from hai_hub.cluster.chart import Chart
from hai_hub.cluster.chart_values import Value, json_like, kind_words, walk

_INTRODUCTION = """\
# Values of the chart

<!-- Made by `python -m hai_hub.cluster.values_reference` from values.schema.json and values.yaml: change those. -->

What `hai cluster up -f values.yaml`, or `helm upgrade --install hai helm/hai -f values.yaml`, reads.
`hai cluster config` prints the same as a values file, and `hai cluster config values.yaml` checks one. Names are those
of zero-to-jupyterhub wherever the thing is the same; [install.md](../install.md#from-zero-to-jupyterhub) says more.
"""


def reference() -> str:
    """Return the text of the page."""
    chart = Chart.find()
    lines = [_INTRODUCTION]
    top: list[Value] = []
    sections: dict[str, list[Value]] = {}
    for value in walk(chart.values, chart.schema):
        section = value.path.partition(".")[0]
        if value.path == section and not value.table:
            top.append(value)
        else:
            sections.setdefault(section, []).append(value)
    lines += ["## For everything", "", *_table(top), ""]
    for section, (head, *values) in sections.items():
        lines += [f"## {section}", "", str(head.schema["description"]), "", *_table(values), ""]
    return "\n".join(lines).rstrip() + "\n"


def _table(values: list[Value]) -> list[str]:
    rows = ["| value | default | meaning |", "|---|---|---|"]
    return rows + [f"| `{value.path}` | {_default(value)} | {_meaning(value)} |" for value in values]


def _default(value: Value) -> str:
    return "" if value.table or value.default in ("", None, [], {}) else f"`{_cell(json_like(value.default))}`"


def _meaning(value: Value) -> str:
    said = str(value.schema["description"])
    if choices := value.schema.get("enum"):
        return _cell(f"{said} One of {', '.join(f'`{choice}`' if choice else 'empty' for choice in choices)}.")
    if value.table:
        return _cell(said)
    kinds = value.schema["type"]
    return _cell(f"{said} Takes {kind_words([kinds] if isinstance(kinds, str) else kinds)}.")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    """Print the page."""
    sys.stdout.write(reference())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
