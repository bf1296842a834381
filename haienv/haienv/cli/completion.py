"""The verb `completion`: scripts for bash, zsh and fish. They ask `haienv __complete` for the words that fit."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any, Iterator

from haienv.cli.parser import Parser, add_verb, parser
from haienv.cli.session import answer, registry
from haienv.shared.errors import HaienvError
from haienv.store.names import USERS

_BASH = """\
# Completion of `haienv` for bash. To use it:  eval "$(haienv completion bash)"
_haienv_words() {
  local IFS=$'\\n'
  COMPREPLY=($(haienv __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o filenames -F _haienv_words haienv
"""
_ZSH = """\
#compdef haienv
# Completion of `haienv` for zsh. To use it:  eval "$(haienv completion zsh)"
_haienv_words() {
  local -a found
  found=("${(@f)$(haienv __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n $found ]] && compadd -- $found || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _haienv_words haienv
"""
_FISH = """\
# Completion of `haienv` for fish. To use it:  haienv completion fish | source
complete -c haienv -a '(haienv __complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
"""
SHELLS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
HIDDEN = "__complete"
_NAMES = ("NAME", "SOURCE", "NAME@N", "NAME[@N]", "BASE")


def add_verbs(verbs: Any) -> None:
    """Add the verb, and the hidden one that scripts call."""
    one = add_verb(verbs, "completion", "print a completion script for a shell", _completion)
    one.add_argument("shell", choices=tuple(SHELLS), help="name of the shell")
    hidden = verbs.add_parser(HIDDEN)
    hidden.set_defaults(run=_complete, verb=HIDDEN)
    hidden.add_argument("words", nargs=argparse.REMAINDER)


def _completion(arguments: argparse.Namespace) -> int:
    script = SHELLS[arguments.shell]
    return answer(arguments, {"shell": arguments.shell, "script": script}, script.rstrip("\n"))


def _complete(arguments: argparse.Namespace) -> int:
    words = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
    with contextlib.suppress(HaienvError, OSError):
        print("\n".join(fitting(words)))
    return 0


def fitting(words: list[str]) -> list[str]:
    """Return the words that can stand for the last of these, which may be empty."""
    *before, current = words or [""]
    known: Parser = parser()
    while before:
        below = _below(known)
        if below is None or before[0] not in below:
            break
        known = below[before.pop(0)]
    found = sorted(set(_possible(known, before, current)))
    return [one for one in found if one.startswith(current)]


def _below(known: Parser) -> dict[str, Any] | None:
    for action in known._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return None


def _possible(known: Parser, before: list[str], current: str) -> Iterator[str]:
    below = _below(known)
    if current.startswith("-"):
        for action in known._actions:
            if action.help != argparse.SUPPRESS:
                yield from (one for one in action.option_strings if one.startswith("--"))
        return
    if below is not None:
        yield from (one for one in below if one != HIDDEN)
        return
    for action in known._actions:
        asked = action.option_strings and before and before[-1] in action.option_strings
        if action.choices and (asked or not action.option_strings):
            yield from map(str, action.choices)
        if action.metavar in _NAMES and (asked or not action.option_strings):
            yield from _names()


def _names() -> Iterator[str]:
    all_of = registry()
    for name in all_of.names(list(all_of.owners())):
        own = name.owner.level == USERS and name.owner == all_of.caller.own
        yield name.name if own else str(name)
