"""Commands on pages exist: verbs and options of `hai`, options of `hai up`, targets of make."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.kit import ROOT, blocks, name_of, pages, spans, text_of
from hai_client.cli import verbs
from hai_client.cli.app import find
from hai_client.cli.shared.parser import build, split_last
from hai_client.errors import Invalid
from hai_hub.cluster import command as cluster_cli
from hai_hub.up import options
from hai_scheduler.sim_cli import app as sim
from hai_scheduler.state_cli import app as state_cli
from hai_scheduler.state_cli.upgrade_app import UPGRADE
from hai_slurm import env as slurm
from hai_slurm.shared.options import OPTIONS
from haienv.cli import parser as haienv_parser

ORIGINAL = ("python", "bash", "exec")
#: Pages that other programs write, or that show shapes instead of commands.
WRITTEN_BY_PROGRAMS = tuple(f"docs/reference/{name}.md" for name in ("cli", "rest", "settings", "values"))
PAGES = [page for page in pages() if name_of(page) not in WRITTEN_BY_PROGRAMS]


def typed(text: str) -> list[list[str]]:
    """Every `hai` and `make` command of a page, in words, without the file that its output goes to."""
    lines = [line for block in blocks(text) for line in block.splitlines()] + spans(text)
    parts = [part.partition(" > ")[0].strip() for line in lines for part in line.partition(" #")[0].split(";")]
    return [shlex.split(part) for part in parts if re.match(r"(hai|make)( |$)", part) and "..." not in part]


def commands() -> list[tuple[str, list[str]]]:
    return [(name_of(page), words) for page in PAGES for words in typed(page.read_text(encoding="utf-8"))]


def own_words(name: str, words: list[str]) -> list[str]:
    """The words that are for `hai`, not for the command that it starts."""
    if name in ORIGINAL:
        return split_last(words)[2] if split_last(words)[1] == "--" else []
    return words[: words.index("--")] if "--" in words else words


def wrong_with(words: list[str]) -> str | None:
    name, rest = words[0], words[1:]
    if name.startswith("--"):
        return None if name in ("--help", "--version", "--json", "--url") else f"{name} is no option of hai"
    if name == "up":
        shown = {word.partition("=")[0] for word in rest if word.startswith("--")} - up_options() - {"--help"}
        return f"hai up has no {sorted(shown)}" if shown else None
    elsewhere = {
        "backup": state_cli.BACKUP,
        "cluster": cluster_cli.COMMAND,
        "restore": state_cli.RESTORE,
        "sim": sim.COMMAND,
        "slurm": slurm.COMMAND,
        "upgrade": UPGRADE,
    }
    command = elsewhere.get(name) or (find(name) if name in verbs.BY_NAME else None)
    if command is None:
        return f"{name} is no verb of hai"
    parser = build(command)
    own = own_words(name, rest)
    if "--help" in own or not own:
        return None
    try:
        parser.parse_args(own)
    except Invalid as error:
        # "`hai admin drain`": a verb that is only mentioned needs not have its words.
        return None if ": missing" in str(error) else str(error)
    return None


def up_options() -> set[str]:
    return {name for action in options._parser()._actions for name in action.option_strings if name.startswith("--")}


def targets() -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+):.*##", text_of("Makefile"), re.MULTILINE))


def test_pages_do_hold_commands() -> None:
    assert len(commands()) > 30
    assert {"submit", "list", "status", "explain", "stop", "logs", "run", "python", "admin"} <= {
        words[1] for _, words in commands() if words[0] == "hai" and len(words) > 1
    }


@pytest.mark.parametrize(("page", "words"), commands(), ids=lambda value: value if isinstance(value, str) else None)
def test_every_command_on_a_page_exists_with_its_options(page: str, words: list[str]) -> None:
    if words[0] == "make":
        asked = [word for word in words[1:] if "=" not in word]
        assert set(asked) <= targets()
    elif len(words) > 1:
        assert wrong_with(words[1:]) is None


def test_what_is_wrong_is_found() -> None:
    assert wrong_with(["sumbit", "x"]) == "sumbit is no verb of hai"
    assert "--node" in str(wrong_with(["submit", "--node", "2", "--", "python", "x.py"]))
    assert wrong_with(["up", "--prot", "1"]) == "hai up has no ['--prot']"
    assert wrong_with(["python", "x.py", "--own", "1", "--", "-n", "2"]) is None
    assert "--nope" in str(wrong_with(["python", "x.py", "--", "--nope"]))
    assert wrong_with(["admin", "quota", "set", "user:bob", "HIGH", "2"]) is None
    assert "drian" in str(wrong_with(["admin", "drian", "node-1"]))


def test_operations_lists_every_option_of_hai_up_and_no_other() -> None:
    table = text_of("docs/operations.md").partition("| option |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(--[a-z-]+)", table)) == up_options() - {"--help"}


def test_every_option_of_a_verb_that_users_read_about_exists() -> None:
    known = up_options() | {"--help", "--json"} | {f"--{option.name}" for option in OPTIONS}
    for verb in verbs.VERBS:
        command = find(verb.name)
        if command is not None:
            known |= options_below(build(command))
    for name in ("README.md", "docs/users.md", "docs/operations.md"):
        shown = {word for span in spans(text_of(name)) for word in re.findall(r"^--[a-z][a-z-]+", span)}
        assert shown - known == set(), name


def options_below(parser: argparse.ArgumentParser) -> set[str]:
    found: set[str] = set()
    for action in parser._actions:
        found.update(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                found |= options_below(below)
    return found


#: Words that begin a help text which speaks of something that it does not name.
WEAK = re.compile(
    r"(its?|they|them|their|whose|which|what|where|why|how many|the same|in this time|of (this|every)"
    r"|also|as above|such as|every one|one or more)\b"
)


def helps_below(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """The help texts of options and arguments, with their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from helps_below(below)
        elif action.help not in (None, argparse.SUPPRESS):
            yield f"{parser.prog} {'/'.join(action.option_strings) or action.dest}", str(action.help)


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parsers of all commands that users type."""
    found = {verb.name: build(command) for verb in verbs.VERBS if (command := find(verb.name)) is not None}
    for command in (state_cli.BACKUP, state_cli.RESTORE, cluster_cli.COMMAND, sim.COMMAND):
        found[command.name] = build(command)
    return found | {"up": options._parser(), "haienv": haienv_parser.parser()}


def test_the_help_of_an_option_names_what_it_speaks_of() -> None:
    found = [each for parser in parsers().values() for each in helps_below(parser)]
    assert len(found) > 300
    assert sorted({(name, text) for name, text in found if WEAK.match(text)}) == []


def test_commands_of_haienv_that_pages_show_exist() -> None:
    shown = {
        name: [span for span in spans(text_of(name)) if span.startswith("haienv ")]
        for name in ("README.md", "docs/users.md")
    }
    assert all(shown.values()), shown
    for span in [span for name in shown for span in shown[name]]:
        words = shlex.split(span)[1:]
        bare = words[1:2] in ([], ["--no-kernel"])
        haienv_parser.parse([*words, "NAME"] if bare else words)


def test_scripts_that_pages_start_are_there() -> None:
    for page, words in commands():
        for word in words:
            if re.fullmatch(r"examples/[\w./-]+", word):
                assert Path(ROOT / word).is_file(), f"{page}: {word}"
