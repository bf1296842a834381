"""SECURITY.md names the versions that get fixes: the last two minors."""

from __future__ import annotations

import re
import tomllib

from docs.kit import text_of


def test_the_last_two_minors_get_fixes_and_no_other() -> None:
    major, minor, *_ = tomllib.loads(text_of("pyproject.toml"))["project"]["version"].split(".")
    minors = [f"{major}.{number}" for number in (int(minor), int(minor) - 1)]
    released = [one for one in minors if re.search(rf"^## {re.escape(one)}\.", text_of("CHANGELOG.md"), re.MULTILINE)]
    assert re.findall(r"^\| (\d+\.\d+) \| yes \|$", text_of("SECURITY.md"), re.MULTILINE) == released
