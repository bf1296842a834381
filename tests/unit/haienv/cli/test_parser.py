"""The verbs of the command, and the modules that each of them needs."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys

import pytest

from hai_scheduler.core.workspace.builds import BuildVerb, EnvironmentBuild
from haienv.cli.parser import MODULES, Parser, parse, parser
from haienv.shared.errors import Wrong


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


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("instal", "verb: 'instal' is not known; do you mean install? `haienv --help` shows what is possible"),
        ("qqq", "verb: 'qqq' is not known; `haienv --help` shows what is possible"),
        ("complete", "verb: 'complete' is not known; do you mean completion? `haienv --help` shows what is possible"),
    ],
)
def test_a_word_that_is_no_verb_is_named_with_the_nearest_one(word: str, said: str) -> None:
    with pytest.raises(Wrong) as refused:
        parse([word, "vision"])
    assert str(refused.value) == said


def test_a_list_imports_nothing_that_builds() -> None:
    code = "import sys; from haienv.cli import main; main(['list']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "haienv.store.registry" in done.stderr
    assert [name for name in done.stderr.split() if name.startswith("haienv.building")] == []


@pytest.mark.parametrize(
    "build",
    [
        EnvironmentBuild(verb=BuildVerb.CREATE, environment="users/ann/v", extend="base/t@3", python="3.11",
                         kernel=False, description="--x", requirements=("a==1", "b[c]>=2; python_version<'3.12'")),
        EnvironmentBuild(verb=BuildVerb.INSTALL, environment="groups/cv/v", requirements=("a",)),
        EnvironmentBuild(verb=BuildVerb.UNINSTALL, environment="groups/cv/v", requirements=("a",)),
        EnvironmentBuild(verb=BuildVerb.REBUILD, environment="base/t"),
        EnvironmentBuild(verb=BuildVerb.ROLLBACK, environment="base/t", generation=2),
        EnvironmentBuild(verb=BuildVerb.SHARE, environment="users/ann/v", groups=("cv",), users=("bob",)),
        EnvironmentBuild(verb=BuildVerb.UNSHARE, environment="users/ann/v", everyone=True),
        EnvironmentBuild(verb=BuildVerb.REMOVE, environment="users/ann/v"),
    ],
    ids=lambda build: str(build.verb),
)  # fmt: skip
def test_the_words_of_the_platforms_builds_are_this_commands(build: EnvironmentBuild) -> None:
    arguments = parse(list(build.command()[1:]))
    assert not arguments.json, "people read the log of a build"
    assert arguments.name.partition("@")[0] == build.environment
    assert list(getattr(arguments, "requirements", getattr(arguments, "packages", []))) == list(build.requirements)
    if build.verb is BuildVerb.CREATE:
        assert (arguments.extend, arguments.python, arguments.no_kernel) == ("base/t@3", "3.11", True)
        assert arguments.description == "--x"
    if build.verb in (BuildVerb.SHARE, BuildVerb.UNSHARE):
        assert (tuple(arguments.group), tuple(arguments.user)) == (build.groups, build.users)
        assert arguments.all is build.everyone
