"""Prints tables as Slurm's commands do: the chosen columns and their widths, in the ways of `-o`, `-O` and `sacct`."""

from __future__ import annotations

import re

from hai_slurm.shared.columns import SACCT_FIELDS, SACCT_VALUES, SACCT_WIDTHS, TITLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_LETTER = re.compile(r"%(\.)?(\d*)([a-zA-Z])")
#: Width of a column of `--Format`, characters.
_WIDE = 20
_CANONICAL = {field.lower(): field for field in SACCT_FIELDS}


class SlurmColumn:
    """A column: its title, the name of its value in a row, its width, and the text before and after it.

    A width of 0 is none; `more` is put in the place of the last character of a value that is cut.
    """

    def __init__(
        self, title: str, value: str, width: int = 0, *, right: bool = False, before: str = "", after: str = "",
        more: str = "",
    ) -> None:  # fmt: skip
        self.title, self.value, self.width, self.right = title, value, width, right
        self.before, self.after, self.more = before, after, more

    def head(self) -> str:
        """Return the title as the table shows it."""
        return self._shown(self.title, "")

    def cell(self, row: Mapping[str, str]) -> str:
        """Return the value of a row as the table shows it; a value that is not there is empty."""
        return self._shown(row.get(self.value, ""), self.more)

    def _shown(self, text: str, more: str) -> str:
        if self.width:
            if len(text) > self.width:
                text = text[: self.width - len(more)] + more
            text = text.rjust(self.width) if self.right else text.ljust(self.width)
        return f"{self.before}{text}{self.after}"


class Table:
    """What is printed of a row, and whether there is a line of titles, and one of dashes below it."""

    def __init__(self, columns: Sequence[SlurmColumn], *, after: str = "") -> None:
        self.columns = columns
        self.after = after
        self.header = True
        self.dashes = False

    def shows(self, *values: str) -> bool:
        """Return whether one of these values is shown."""
        return any(column.value in values for column in self.columns)

    def lines(self, rows: Iterable[Mapping[str, str]]) -> list[str]:
        """Return the lines of the table."""
        found = []
        if self.header:
            found.append([column.head() for column in self.columns])
            if self.dashes:
                found.append(["-" * column.width + column.after for column in self.columns])
        found += [[column.cell(row) for column in self.columns] for row in rows]
        return ["".join(parts) + self.after for parts in found]


def by_letters(text: str, letters: Mapping[str, str]) -> Table:
    """Return the table of `-o`: letters with widths, and the text between them: `%.18i %T`."""
    if text.strip() == "%all":
        text = "|".join(f"%{letter}" for letter in letters)
    columns, at = [], 0
    for match in _LETTER.finditer(text):
        value = letters.get(match[3], match[3])
        width = int(match[2] or 0)
        before = text[at : match.start()]
        columns.append(SlurmColumn(TITLES.get(value, value), value, width, right=bool(match[1]), before=before))
        at = match.end()
    return Table(columns, after=text[at:])


def by_names(text: str, names: Mapping[str, str]) -> Table:
    """Return the table of `-O`: names with widths and what follows each: `jobid:.10,state:|,name:5;`."""
    columns: list[SlurmColumn] = []
    for word in text.split(","):
        name, given, form = word.partition(":")
        value = names.get(name.strip().lower(), name.strip().upper())
        right = form.startswith(".")
        digits = re.match(r"\.?(\d*)", form)
        width = (digits[1] if digits else "") if given else str(_WIDE)
        after = form[digits.end() :] if digits else ""
        columns.append(SlurmColumn(TITLES.get(value, value), value, int(width or 0), right=right, after=after))
    return Table(columns)


def chosen(given: Sequence[tuple[str, str]], usual: str, letters: Mapping[str, str], names: Mapping[str, str]) -> Table:
    """Return the table that the last of `--format` and `--Format` asks for, else that of the usual letters."""
    asked = [(name, text) for name, text in given if name in ("format", "Format")]
    name, text = asked[-1] if asked else ("format", usual)
    table = by_names(text, names) if name == "Format" else by_letters(text, letters)
    table.header = not any(name == "noheader" for name, _ in given)
    return table


def by_fields(text: str, between: str | None, *, closed: bool = False) -> Table:
    """Return the table of `sacct`: fields with widths: `JobID,State%20`.

    Args:
        text: The fields.
        between: What separates them; None: they are padded.
        closed: Whether it also stands after the last.
    """
    columns: list[SlurmColumn] = []
    for word in (each.strip() for each in text.split(",")):
        name, _, given = word.partition("%")
        if not name:
            continue
        field = _CANONICAL.get(name.lower(), name)
        value = SACCT_VALUES.get(field, field)
        if between is not None:
            columns.append(SlurmColumn(field, value, before=between if columns else ""))
            continue
        width = int(given) if re.fullmatch(r"-?\d{1,4}", given) and int(given) else SACCT_WIDTHS.get(field, 10)
        columns.append(SlurmColumn(field, value, abs(width), right=width > 0, after=" ", more="+"))
    table = Table(columns, after=between or "" if closed else "")
    table.dashes = between is None
    return table


def elapsed(seconds: float) -> str:
    """Return a time as `sacct` writes it: `[D-]HH:MM:SS`."""
    whole = int(seconds)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    text = f"{hours:02d}:{minutes:02d}:{whole % 60:02d}"
    return f"{days}-{text}" if days else text


def brief(seconds: float) -> str:
    """Return a time as `squeue` writes it: `M:SS`, `H:MM:SS` or `D-HH:MM:SS`."""
    text = elapsed(seconds)
    if text.startswith("00:"):
        text = text[3:]
    return text[1:] if text[0] == "0" and "-" not in text else text
