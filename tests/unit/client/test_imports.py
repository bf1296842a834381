"""Any training image can run the client: it is the standard library alone, and importing it does nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hai_client

CLIENT = Path(hai_client.__file__).parents[1]

CODE = """
import sys, threading, importlib, pkgutil
sys.path.insert(0, {client!r})
import hai_client, hai_client.cli
{more}
foreign = sorted(name for name in sys.modules
                 if name.partition('.')[0] not in sys.stdlib_module_names
                 and name.partition('.')[0] not in ('hai_client', '__main__', '__mp_main__'))
print(foreign, threading.active_count())
"""
EVERY_MODULE = """
import hai_client.cli.app
for found in pkgutil.walk_packages(hai_client.cli.__path__, 'hai_client.cli.'):
    if found.name != 'hai_client.__main__':
        importlib.import_module(found.name)
for name in ('api', 'hub', 'settings', 'wire.schema', 'codec', 'http', 'sse', 'durations', 'names', 'errors'):
    importlib.import_module('hai_client.' + name)
"""


def alone(code: str) -> str:
    # -I and -S: nothing of site-packages, nor of the environment.
    result = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr == ""
    return result.stdout


@pytest.mark.parametrize("more", ["", EVERY_MODULE], ids=["the package", "every module"])
def test_importing_loads_the_standard_library_alone_and_starts_nothing(more: str) -> None:
    assert alone(CODE.format(client=str(CLIENT), more=more)) == "[] 1\n"


def test_importing_the_package_loads_none_of_its_parts() -> None:
    code = f"import sys; sys.path.insert(0, {str(CLIENT)!r}); import hai_client, hai_client.cli\n"
    code += "print(sorted(name for name in sys.modules if name.startswith('hai_client')))"
    assert alone(code) == "['hai_client', 'hai_client.cli']\n"


def test_the_promised_names_are_these_and_all_there() -> None:
    assert hai_client.__all__ == [
        "Client", "Conflict", "Forbidden", "HaiError", "Invalid", "NotFound", "NotLoggedIn", "QuotaExceeded",
        "TaskRequest", "Unavailable", "errors", "job",
    ]  # fmt: skip
    assert all(getattr(hai_client, name) is not None for name in hai_client.__all__)
    assert set(hai_client.__all__) <= set(dir(hai_client))
    with pytest.raises(AttributeError, match="dragons"):
        _ = hai_client.dragons
