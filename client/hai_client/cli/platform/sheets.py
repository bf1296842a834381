"""Writes tables as CSV that spreadsheets open without executing anything of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

#: What spreadsheets take a cell for a formula by.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_text(titles: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return rows as CSV (RFC 4180). Texts that a spreadsheet would take for a formula get a quotation mark first.

    Args:
        titles: The names of the columns.
        rows: Texts and numbers; None is an empty cell.
    """
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow([_cell(title) for title in titles])
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    return written.getvalue()


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return format(value, ".15g")
    return f"'{value}" if value.lstrip(" ").startswith(_FORMULA) else value
