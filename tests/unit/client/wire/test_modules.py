"""Modules of bodies are imported when a call needs them: a command makes few of their classes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hai_client import wire

FOLDER = Path(wire.__file__).parent


def loaded_by(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*(name for name in sys.modules if name.startswith('hai_client.wire.')))"
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True)
    return {name.rpartition(".")[2] for name in done.stdout.split()}


def test_a_client_alone_needs_the_bodies_of_tasks_only() -> None:
    assert loaded_by("import hai_client.api") == {"identities", "schema"}


def test_a_module_is_imported_when_it_is_used() -> None:
    assert loaded_by("from hai_client import wire\nassert wire.reports.Rate.__name__ == 'Rate'") == {"reports"}


def test_every_module_of_the_package_is_found_by_its_name() -> None:
    for path in FOLDER.glob("[a-z]*.py"):
        assert getattr(wire, path.stem).__name__ == f"hai_client.wire.{path.stem}"


def test_another_name_is_an_attribute_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match=r"'hai_client\.wire' has no attribute 'nothing'"):
        wire.nothing  # noqa: B018
