"""The verbs of the command, and the modules that each of them needs."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys

import pytest

from haienv.cli.parser import MODULES, Parser, parser


def verbs_of(made: argparse.ArgumentParser) -> list[str]:
    [verbs] = [one for one in made._actions if isinstance(one, argparse._SubParsersAction)]
    return list(verbs.choices)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_the_verbs_that_the_table_names(module: str) -> None:
    made = Parser(prog="haienv")
    importlib.import_module(f"haienv.cli.{module}").add_verbs(made.add_subparsers())
    assert verbs_of(made) == list(MODULES[module])


def test_without_a_known_verb_all_are_known() -> None:
    every = [verb for verbs in MODULES.values() for verb in verbs]
    assert verbs_of(parser()) == every
    assert verbs_of(parser("nothing")) == every
    assert verbs_of(parser("diff")) == list(MODULES["showing"])


def test_a_list_imports_nothing_that_builds() -> None:
    code = "import sys; from haienv.cli import main; main(['list']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "haienv.store.registry" in done.stderr
    assert [name for name in done.stderr.split() if name.startswith("haienv.building")] == []
