"""Each study of the benchmarks can begin: a helper that has moved would else be missed for months."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import bench

#: Scripts that run as soon as they are imported.
SCRIPTS = {"bench.__main__", "bench.victim"}
NAMES = [found.name for found in pkgutil.walk_packages(bench.__path__, "bench.") if found.name not in SCRIPTS]


@pytest.mark.parametrize("name", NAMES)
def test_a_module_of_the_benchmarks_finds_what_it_imports(name: str) -> None:
    importlib.import_module(name)
