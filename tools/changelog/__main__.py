"""`python -m changelog check`: fragments are right, and a change that people notice has one.

`write VERSION DAY`: a release takes the fragments into CHANGELOG.md and removes them.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from changelog import asked, fragments

ROOT = Path(__file__).parents[2]
FOLDER, TEXT = ROOT / "changelog.d", ROOT / "CHANGELOG.md"
LAST = ROOT / "tests" / "upgrade" / "last_release.toml"
#: A folder for each release; what it consists of stands there once it is cut.
RELEASES = ROOT / "releases"


def check() -> str:
    """Return what is wrong; empty: nothing."""
    try:
        fragments.read(FOLDER)
    except fragments.BadFragment as error:
        return str(error)
    newest = TEXT.read_text(encoding="utf-8").partition("\n## ")[2].partition("\n")[0]
    # Between the commit of a release and the one that names it, all fragments have just been taken.
    if not (RELEASES / newest.partition(" ")[0] / "digests.json").is_file():
        return ""
    since = asked.base(ROOT, tomllib.loads(LAST.read_text(encoding="utf-8"))["commit"])
    if not since:
        print("changelog: this clone has neither origin/main nor the last release: fragments were not asked for")
        return ""
    file = asked.lacking(asked.changed(ROOT, since), asked.messages(ROOT, since))
    return file and (
        f"{file} differs from {since[:8]}, and no fragment says what people notice: write changelog.d/NAME.KIND.md "
        f"(changelog.d/README.md), or the line `{asked.NOTHING}` into the commit's message"
    )


def write(version: str, day: str) -> None:
    """Take the fragments into CHANGELOG.md, above the release before."""
    text = TEXT.read_text(encoding="utf-8")
    before, mark, after = text.partition("\n## ")
    TEXT.write_text(
        f"{before}\n{fragments.release(fragments.read(FOLDER), version, day)}{mark}{after}", encoding="utf-8"
    )
    for file in FOLDER.iterdir():
        if file.name != "README.md":
            file.unlink()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["check"]:
            wrong = check()
            sys.exit(f"changelog: {wrong}" if wrong else 0)
        case ["write", version, day]:
            write(version, day)
        case _:
            sys.exit(f"usage: {__doc__}")
