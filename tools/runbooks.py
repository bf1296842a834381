"""Writes the runbooks for Studio, which shows them beside the alarms that they are about, in the reader's language.

`PYTHONPATH=tools python -m runbooks`, as `make reference` does. The documentation is not on the platform, and an admin
whose cluster has a problem may have no way to where it is published. The English pages are those of docs/runbooks; a
folder of `lab_extension/runbooks` holds their translations into the language that it is named after.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = ROOT / "docs" / "runbooks"
TRANSLATIONS: Final = ROOT / "lab_extension" / "runbooks"
TARGET: Final = ROOT / "lab_extension" / "src" / "text" / "runbooks"


def languages() -> dict[str, Path]:
    """Return the folders of runbooks by the names of their languages, as `zh_CN`."""
    return {"en": PAGES} | {folder.name: folder for folder in sorted(TRANSLATIONS.iterdir())}


def pages(folder: Path) -> list[Path]:
    """Return the runbooks of a folder."""
    return [path for path in sorted(folder.glob("*.md")) if path.stem != "README"]


def text(folder: Path) -> str:
    """Return the file of Studio with the runbooks of a folder, as Markdown, by the names of their alerts."""
    found = {path.stem: path.read_text(encoding="utf-8").strip() for path in pages(folder)}
    return json.dumps(found, ensure_ascii=False, indent=2) + "\n"


def main() -> None:
    """Write the files."""
    for name, folder in languages().items():
        (TARGET / f"{name}.json").write_text(text(folder), encoding="utf-8")


if __name__ == "__main__":
    main()
