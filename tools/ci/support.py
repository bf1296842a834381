"""What HAI is tested with, and the page that says so: `PYTHONPATH=tools .venv/bin/python -m ci.support`.

Versions of packages are those of the locks. What no lock names is written here, and a run of CI fails where it has
another (`running`). What nobody has tried is not in the table.
"""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "support.md"
#: Pythons on which tests run the client beside the one of the platform; a machine that lacks one skips it.
CLIENT_PYTHONS = ("3.8", "3.9", "3.10", "3.12", "3.13")
#: The first and the last version of Kubernetes whose schemas all objects keep.
SCHEMAS = ("1.25", "1.37")
#: What .ci/run has, where no lock names it.
IN_CI: Mapping[str, str] = {"Python": "3.11", "SQLite": "3.40", "PostgreSQL": "15", "Helm": "4.1", "Kubernetes": "1.20"}
_ENTRY = re.compile(r"^([a-z0-9-]+)==([0-9.]+)", re.MULTILINE)
_HEAD = """# What it is tested with

`.ci/run` tries this at each change. Other versions may work; nobody has tried them. What is skipped where a program
is missing is named in the last lines of a run. Ranges are those that the packages ask for.

"""


@dataclass(frozen=True)
class Row:
    """One line of the page."""

    what: str
    versions: str
    how: str


#: Tried by hand, with the day.
BY_HAND = (
    Row("Python 3.12.1 of the platform", "28 November 2026", "unit and contract tests; those of Redis were skipped"),
    Row(
        "Python 3.13.0 of the platform",
        "28 November 2026",
        "the same; two tests were told of connections to SQLite that nobody had closed",
    ),
    Row(
        "Kubernetes 1.32.6",
        "27 November 2026",
        "the chart with enforced network policies, quota and pod security; tasks, servers, drains, on two nodes",
    ),
)


def locked() -> dict[str, str]:
    """The versions of the locks, by package."""
    return dict(_ENTRY.findall((ROOT / "requirements.lock").read_text(encoding="utf-8")))


def asked() -> dict[str, str]:
    """The ranges of the project, by package."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    found = (re.fullmatch(r"([a-z0-9-]+)(?:\[[a-z,]+\])?([<>=].*)", one) for each in extras.values() for one in each)
    return {one[1]: one[2].replace(",", ", ") for one in found if one}


def rows() -> list[Row]:
    """The lines of what .ci/run tries."""
    versions, ranges = locked(), asked()

    def package(name: str) -> str:
        return f"{versions[name]} (`{ranges[name]}`)"

    clients = ", ".join(sorted((*CLIENT_PYTHONS, IN_CI["Python"]), key=lambda one: int(one.partition(".")[2])))
    return [
        Row("Python of the platform", IN_CI["Python"], "all tests"),
        Row(
            "Python of `hai`, the Python client and the supervisor",
            clients,
            "the command and the in-job API; all tests on the platform's",
        ),
        Row("JupyterHub", package("jupyterhub"), "all tests of platforms"),
        Row("JupyterLab", package("jupyterlab"), "the panel in a browser"),
        Row("KubeSpawner", package("jupyterhub-kubespawner"), "users' servers as pods"),
        Row("SQLite", IN_CI["SQLite"], "all tests of platforms"),
        Row("PostgreSQL", IN_CI["PostgreSQL"], "the store's contracts, two replicas, chaos, upgrades"),
        Row(
            "Kubernetes",
            IN_CI["Kubernetes"],
            "the chart under enforced network policies, tasks, servers; two nodes of real kubelets",
        ),
        Row(
            "Kubernetes, schemas alone",
            " to ".join(SCHEMAS),
            "manifests of tasks and of the chart",
        ),
        Row(
            "Helm",
            IN_CI["Helm"],
            "the chart is rendered and installed; upgraded from the last release, and rolled back",
        ),
        Row("Browser", "Chromium of Debian 12", "panel and Studio; no other browser is tried"),
        Row("Operating system", "Debian 12, x86-64", "all tests"),
    ]


def page() -> str:
    """The page."""

    def table(*lines: Row, heads: str) -> str:
        cells = [f"| {line.what} | {line.versions} | {line.how} |\n" for line in lines]
        return f"{heads}\n|---|---|---|\n{''.join(cells)}"

    return (
        _HEAD
        + table(*rows(), heads="| what | version | what tests it |")
        + "\n## Tried by hand\n\nNo later change has been tried with it.\n\n"
        + table(*BY_HAND, heads="| what | when | what was tried |")
    )


def running() -> dict[str, str]:
    """What this machine has of `IN_CI`: whole versions. What is missing here, or is a cluster's, is left out."""
    programs: dict[str, tuple[str | Path, ...]] = {
        "Helm": (ROOT / ".venv" / "bin" / "helm", "version", "--short"),
        "PostgreSQL": ("postgres", "--version"),
    }
    found = {"Python": ".".join(map(str, sys.version_info[:3])), "SQLite": sqlite3.sqlite_version}
    return found | {what: version for what, words in programs.items() if (version := _said(*words))}


def _said(*words: str | Path) -> str:
    try:
        said = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""
    version = re.search(r"\d+(?:\.\d+)+", said)
    return version[0] if version else ""


def others(here: Callable[[], Mapping[str, str]] = running) -> list[str]:
    """Return what this machine has in another version than the page says."""
    return [
        f"{what} is {version} here, and {IN_CI[what]} in {Path(__file__).name}: write it there"
        for what, version in here().items()
        if f"{version}.".partition(f"{IN_CI[what]}.")[:2] != ("", f"{IN_CI[what]}.")
    ]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
