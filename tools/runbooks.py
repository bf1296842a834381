"""Writes the runbooks of docs/runbooks for Studio, which shows them beside the alarms that they are about.

`PYTHONPATH=tools python -m runbooks`, as `make reference` does. The documentation is not on the platform, and an admin
whose cluster has a problem may have no way to where it is published.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "runbooks"
TARGET = ROOT / "lab_extension" / "src" / "text" / "runbooks.ts"

_HEAD = """/**
 * The runbooks by the names of their alerts, as Markdown.
 * Written by `make reference` from docs/runbooks: change those, not this.
 */

export const RUNBOOKS: Readonly<Record<string, string>> = {
"""


def text() -> str:
    """Return the file of Studio."""
    pages = [path for path in sorted(PAGES.glob("*.md")) if path.stem != "README"]
    return _HEAD + ",\n".join(f"  {path.stem}: `{_escaped(path)}`" for path in pages) + "\n};\n"


def _escaped(path: Path) -> str:
    page = path.read_text(encoding="utf-8").strip()
    return page.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${")


def main() -> None:
    """Write the file."""
    TARGET.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
