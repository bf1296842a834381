"""The command line of `haienv`: verbs and options."""

from __future__ import annotations

import argparse
import importlib
from typing import Any, NoReturn

from haienv.shared.errors import Wrong
from haienv.shared.masking import quoted

EPILOG = "haienv/README.md has more. A NAME is vision, vision@3, base/torch, groups/cv/vision or users/ann/vision."
#: The verbs of each module of `haienv.cli`, in the order of the help.
MODULES = {
    "building": ("create", "install", "uninstall", "rebuild", "clone"),
    "drafting": ("draft", "freeze"),
    "showing": ("list", "show", "diff"),
    "locks": ("lock",),
    "using": ("run", "shell", "activate"),
    "keeping": ("rollback", "remove", "gc", "keep", "unkeep", "doctor"),
    "sharing": ("share", "unshare"),
    "moving": ("rename", "export", "import"),
    "packing": ("pack", "fetch"),
    "configuring": ("config",),
    "admin": ("init",),
    "completion": ("completion", "__complete"),
}


#: Verbs that users do not write.
_HIDDEN = ("__complete",)


def filled(text: str) -> str:
    """Return the value of an option that may not be empty, as an unset variable of a shell makes it."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is empty: give a value, or leave the option out")
    return text


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises errors as `Wrong`."""

    def error(self, message: str) -> NoReturn:
        """Raise `Wrong`."""
        raise Wrong(f"{message}; `{self.prog} --help` shows what is possible")


def parse(words: list[str]) -> argparse.Namespace:
    """Read the command line. Requirements may stand before and after options. Raises Wrong."""
    _check_verb(words)
    made = parser(words[0] if words else None)
    arguments, rest = made.parse_known_args(_options_first(words))
    if rest and not hasattr(arguments, "requirements"):
        made.error(f"{rest[0]!r} is not known")
    if rest:
        arguments.requirements += rest
    return arguments


def _check_verb(words: list[str]) -> None:
    """Raise Wrong for a word in the place of the verb that is none; argparse would list all of them."""
    known = [verb for verbs in MODULES.values() for verb in verbs]
    if not words or words[0].startswith("-") or words[0] in known:
        return
    # Imported here: nearly always the verb is known.
    from difflib import get_close_matches

    near = get_close_matches(words[0], [verb for verb in known if verb not in _HIDDEN], 1)
    meant = f"do you mean {near[0]}? " if near else ""
    raise Wrong(f"verb: {quoted(words[0])} is not known; {meant}`haienv --help` shows what is possible")


def _options_first(words: list[str]) -> list[str]:
    """Let the options of `run` stand after NAME too, before `--`; argparse would take them as the command's."""
    if words[:1] != ["run"] or "--" not in words[2:]:
        return words
    end = words.index("--", 2)
    name, *options = words[1:end]
    return ["run", *options, name, *words[end:]] if options and options[0].startswith("-") else words


def parser(verb: str | None = None) -> Parser:
    """Return the parser of the command; `run` of the result is the verb's function.

    Args:
        verb: The verb that was given: only its module is imported, as `haienv list` should not wait for what builds.
            None, or an unknown one: all verbs are known.
    """
    named = [module for module, its in MODULES.items() if verb in its]
    made = Parser(prog="haienv", description="Python environments that are built, shared and pinned.", epilog=EPILOG)
    verbs = made.add_subparsers(metavar="VERB", required=True, parser_class=Parser)
    for module in named or MODULES:
        importlib.import_module(f"haienv.cli.{module}").add_verbs(verbs)
    return made


def add_verb(verbs: Any, name: str, about: str, run: Any, *, json: bool = True, writes: bool = False) -> Parser:
    """Add a verb, and return its parser.

    Args:
        verbs: Where verbs are added.
        name: Its name.
        about: What it does, for the help.
        run: Its function.
        json: Whether it can print JSON instead of sentences.
        writes: Whether it makes files of environments.
    """
    verb: Parser = verbs.add_parser(name, help=about, description=about)
    verb.set_defaults(run=run, verb=name, writes=writes)
    if json:
        verb.add_argument("--json", action="store_true", help="print JSON")
    return verb


def add_name(verb: argparse.ArgumentParser, about: str = "the environment") -> None:
    """Add the argument NAME, and -u."""
    verb.add_argument("name", metavar="NAME", help=about)
    verb.add_argument("-u", "--user", metavar="USER", type=filled, help="the owner, if it is another user's")
