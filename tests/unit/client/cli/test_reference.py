"""docs/reference/cli.md, as it is made from the parsers: every verb, every option, and nothing that is hidden."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from hai_client.cli import reference as module
from hai_client.cli import verbs
from hai_client.cli.reference import reference
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.parser import Command
from hai_client.cli.verbs import Verb

ROOT = Path(__file__).parents[4]


def run(args: argparse.Namespace, ctx: Context) -> int:
    raise AssertionError("nothing is run")


def page_of(monkeypatch: pytest.MonkeyPatch, command: Command) -> str:
    """The part of the page for a command that is the only one."""
    monkeypatch.setattr(verbs, "VERBS", (Verb(command.name, "do a | b", "module", "Run"),))
    monkeypatch.setattr(module, "find", lambda name: command)
    return reference().partition(f"## hai {command.name}\n")[2]


def flat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="id or name")
    parser.add_argument("more", nargs="+", metavar="WORD", help="what it says")
    parser.add_argument("-n", "--nodes", metavar="N", help="how many | or all")
    parser.add_argument("--level", choices=("LOW", "HIGH"), help="how urgent")
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    parser.add_argument("--secret", help=argparse.SUPPRESS)


def test_a_verb_has_its_usage_its_words_and_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(monkeypatch, Command("dance", flat, run, about="Dance.", examples="examples:\n  hai dance 41"))
    assert "Dance.\n" in page
    assert "```text\nhai dance [OPTIONS] TASK WORD ...\n```" in page
    assert "| `TASK` | id or name |" in page
    assert "| `-n`, `--nodes` `N` | how many \\| or all |" in page, "a bar would end the cell"
    assert "| `--level` `LEVEL` | how urgent: `LOW`, `HIGH` |" in page
    assert "| `--quiet` | print nothing |" in page
    assert "```text\nexamples:\n  hai dance 41\n```" in page


def test_hidden_options_and_those_of_every_verb_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(monkeypatch, Command("dance", flat, run))
    assert "--secret" not in page
    assert "--json" not in page
    assert "--help" not in page


def test_a_usage_of_its_own_goes_before_the_one_that_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(monkeypatch, Command("dance", flat, run, usage="hai dance -- COMMAND ..."))
    assert "```text\nhai dance -- COMMAND ...\n```" in page
    assert "[OPTIONS]" not in page


def nested(parser: argparse.ArgumentParser) -> None:
    groups = parser.add_subparsers(metavar="VERB")
    inner = groups.add_parser("user").add_subparsers(metavar="VERB")
    add = inner.add_parser("add", description="add a user")
    add.add_argument("name", help="the name")
    inner.add_parser("list", description="list the users")
    groups.add_parser("show")


def test_verbs_of_verbs_have_parts_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(monkeypatch, Command("admin", nested, run, about="Administer."))
    assert re.findall(r"### (.*)", page) == ["hai admin user add", "hai admin user list", "hai admin show"]
    assert "### hai admin user add\n\nAdd a user.\n" in page
    assert "| `NAME` | the name |" in page
    before = page.partition("###")[0]
    assert "```text" not in before, "a verb that only has verbs is not called itself"


def test_all_verbs_are_listed_and_those_of_other_packages_lead_to_their_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    # As where the client is installed alone.
    real = module.find
    monkeypatch.setattr(module, "find", lambda name: None if name in module._ELSEWHERE else real(name))
    page = reference()
    assert re.findall(r"^## hai (\S+)$", page, re.MULTILINE) == [verb.name for verb in verbs.VERBS]
    assert len(re.findall(r"^\| \[`hai ", page, re.MULTILINE)) == len(verbs.VERBS)
    for name, text in module._ELSEWHERE.items():
        part = page.partition(f"## hai {name}\n")[2].partition("\n## ")[0]
        assert text.strip() in part
        for link in re.findall(r"\]\(([^)#]+)", part):
            assert (ROOT / "docs" / "reference" / link).exists()


def test_the_page_ends_with_one_line_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert module.main() == 0
    assert capsys.readouterr().out == reference()
    assert reference().endswith("\n")
    assert not reference().endswith("\n\n")
