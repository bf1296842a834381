"""A report as one HTML page that needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from hai_scheduler.sim.figures import Row

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .25rem .8rem; border-bottom: 1px solid #8886; text-align: right; }
th:first-child, td:first-child { text-align: left; font-weight: normal; }
svg { width: 100%; height: auto; background: #fff; }
"""


def page(title: str, columns: Sequence[str], rows: Sequence[Row], svg: str, assumptions: Sequence[str]) -> str:
    """Return the HTML page.

    Args:
        title: What was compared.
        columns: The names of the policies.
        rows: Their figures.
        svg: The picture, as an element.
        assumptions: Sentences on what the figures rest on.
    """
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "\n".join(
        f'<tr><th scope="row">{escape(row.title)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row.cells)}</tr>'
        for row in rows
    )
    notes = "\n".join(f"<li>{escape(note)}</li>" for note in assumptions)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<figure aria-label="Occupancy and waiting tasks over time">
{svg}
</figure>
<table>
<thead><tr><th scope="col">figure</th>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table>
<h2>Assumptions</h2>
<ul>
{notes}
</ul>
</body>
</html>
"""
