"""The extension is found by Jupyter Server, and the package's parts agree."""

from __future__ import annotations

import json
from pathlib import Path

import hai_lab

LAB = Path(__file__).parents[3] / "lab_extension"


def test_jupyter_server_is_told_to_load_it():
    assert hai_lab._jupyter_server_extension_points() == [{"module": "hai_lab"}]
    config = json.loads((LAB / "jupyter-config/server-config/hai_lab.json").read_text())
    assert config == {"ServerApp": {"jpserver_extensions": {"hai_lab": True}}}


def test_both_halves_have_one_version_and_one_name():
    package = json.loads((LAB / "package.json").read_text())
    assert package["version"] == hai_lab.__version__
    assert hai_lab._jupyter_labextension_paths() == [{"src": "labextension", "dest": package["name"]}]


def test_the_lock_names_no_registry():
    lock = json.loads((LAB / "package-lock.json").read_text())
    assert [name for name, each in lock["packages"].items() if "resolved" in each] == []
