"""Prints the table of options in docs/users.md: `python -m hai_slurm.reference`."""

from __future__ import annotations

from hai_slurm.shared.options import BOTH, IGNORED, OPTIONS, REFUSED, USED, Option

_HOW = {USED: "", IGNORED: "left out, and named: ", REFUSED: "refused: "}
_WHERE = {BOTH: "sbatch, srun"}


def table() -> str:
    """Return the rows: options that are used, then refused ones, then ignored ones."""
    rows = [_row(option) for fate in (USED, REFUSED) for option in OPTIONS if option.fate == fate]
    quiet = ", ".join(sorted({f"`--{option.name}`" for option in OPTIONS if option.fate == IGNORED}))
    return "".join(f"{row}\n" for row in [*rows, f"| {quiet} | | left out; a line says why |"])


def _row(option: Option) -> str:
    name = f"`--{option.name}`" + (f" `-{option.short}`" if option.short else "")
    return f"| {name} | {_WHERE.get(option.where, option.where)} | {_HOW[option.fate]}{option.about} |"


if __name__ == "__main__":
    print(table(), end="")
