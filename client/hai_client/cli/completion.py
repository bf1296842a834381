"""`hai completion`: completion scripts for bash, zsh and fish, made from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from hai_client import constants
from hai_client.backports import dataclass
from hai_client.cli import verbs
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.parser import Command, build, option

#: The kind of a word, by its name in the help.
_KINDS = {
    "TASK": "tasks",
    "NODE": "nodes",
    "ENVIRONMENT": "environments",
    "PRIORITY": "priorities",
    "LEVEL": "levels",
    "FILE": "files",
    "DIR": "dirs",
}


@dataclass(frozen=True, slots=True)
class Level:
    """The possible words after some verbs: further verbs, options, and a kind of word."""

    path: str
    verbs: tuple[str, ...]
    options: tuple[str, ...]
    values: tuple[tuple[str, str], ...]  #: Options that take a value, and the kind or the words of it.
    kind: str
    second: str = ""  #: The kind of word after the first one.
    shorts: tuple[tuple[str, str], ...] = ()  #: Options of one letter by their long form.


def levels() -> Iterator[Level]:
    """Yield all levels of the command; `path` is the verbs so far with spaces between."""
    from hai_client.cli.app import find

    yield Level("", tuple(verbs.BY_NAME), ("--help", "--json", "--url", "--version"), (), "")
    for name in verbs.BY_NAME:
        command = find(name)
        if command is None:
            yield Level(name, (), (), (), "files")
        else:
            yield from _walk(name, build(command))


def _walk(path: str, parser: argparse.ArgumentParser) -> Iterator[Level]:
    words: tuple[str, ...] = ()
    kinds = ["commands"] if path in ("submit", "exec") else ["files"] if path in ("python", "bash") else []
    shorts: list[tuple[str, str]] = []
    options: list[str] = []
    values: list[tuple[str, str]] = []
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            below = [(f"{path} {name}", child) for name, child in action.choices.items()]
            words = tuple(action.choices)
        elif action.help == argparse.SUPPRESS:
            continue
        elif action.option_strings:
            shown = [option for option in action.option_strings if option.startswith("--") and "_" not in option]
            options += shown[:1]
            shorts += [(shown[0], option) for option in action.option_strings if shown and len(option) == 2]
            if action.nargs != 0:
                values += [(option, _kind(action)) for option in action.option_strings]
        else:
            kinds.append(_kind(action))
    first, second = (*kinds, "", "")[:2]
    yield Level(path, words, tuple(options), tuple(values), first, second, tuple(shorts))
    for child_path, child in below:
        yield from _walk(child_path, child)


def _kind(action: argparse.Action) -> str:
    if action.choices:
        return " ".join(map(str, action.choices))
    return _KINDS.get(str(action.metavar), "")


def _words(kind: str) -> str:
    """Return the words of a kind that is known now; other kinds are left to the script."""
    if kind == "priorities":
        return " ".join((constants.AUTO, *constants.PRIORITIES))
    if kind == "levels":
        return " ".join(constants.PRIORITIES)
    return kind


def _cases() -> tuple[list[str], list[str]]:
    """Return the two tables of a script as lines of `case`: words by path, and kinds of values by option."""
    found = list(levels())
    by_path = [
        f"    '{level.path}') verbs='{' '.join(level.verbs)}'; options='{' '.join(level.options)}';"
        f" kind='{_words(level.kind)}'; second='{_words(level.second)}' ;;"
        for level in found
    ]
    by_option = [
        f"    '{level.path} {option}') kind='{_words(kind)}'; value=1 ;;"
        for level in found
        for option, kind in level.values
    ]
    by_option.append("    *' --url') kind=''; value=1 ;;")
    return by_path, by_option


_BASH = """\
# Completion of `hai` for bash. To use it:  eval "$(hai completion bash)"
_hai_words() {
  local verbs='' options='' kind='' second='' count='' value='' path='' word at
  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="${COMP_WORDS[at]}"
    case "$path" in
      '') [[ $word == -* ]] || path="$word" ;;
      @BRANCHES@) [[ $word == -* ]] || path="$path $word" ;;
      *) [[ $word == -* ]] || count=x$count ;;
    esac
    [[ $word == -- && $path == submit ]] && { COMPREPLY=($(compgen -f -- "$cur")); return; }
  done
  case "$path" in
@PATHS@
  esac
  [[ -n $count && -n $second ]] && kind="$second"
  case "$path $prev" in
@OPTIONS@
  esac
  if [[ -z $value && $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
    return
  fi
  [[ -z $value && -n $verbs ]] && kind="$verbs"
  case "$kind" in
    tasks|nodes|environments) COMPREPLY=($(compgen -W "$(hai __complete "$kind" 2>/dev/null)" -- "$cur")) ;;
    files|commands) COMPREPLY=($(compgen -f -- "$cur")) ;;
    dirs) COMPREPLY=($(compgen -d -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "$kind" -- "$cur")) ;;
  esac
}
complete -o filenames -F _hai_words hai
"""

_ZSH = """\
#compdef hai
# Completion of `hai` for zsh. To use it:  eval "$(hai completion zsh)"
_hai_words() {
  local verbs='' options='' kind='' second='' count='' value='' seen='' word at
  local cur="${words[CURRENT]}" prev="${words[CURRENT-1]}"
  for ((at = 2; at < CURRENT; at++)); do
    word="${words[at]}"
    case "$seen" in
      ('') [[ $word == -* ]] || seen="$word" ;;
      (@BRANCHES@) [[ $word == -* ]] || seen="$seen $word" ;;
      (*) [[ $word == -* ]] || count=x$count ;;
    esac
    [[ $word == -- && $seen == submit ]] && { _files; return; }
  done
  case "$seen" in
@PATHS@
  esac
  [[ -n $count && -n $second ]] && kind="$second"
  case "$seen $prev" in
@OPTIONS@
  esac
  if [[ -z $value && $cur == -* ]]; then
    compadd -- ${=options}
    return
  fi
  [[ -z $value && -n $verbs ]] && kind="$verbs"
  case "$kind" in
    (tasks|nodes|environments) compadd -- ${(f)"$(hai __complete "$kind" 2>/dev/null)"} ;;
    (files|commands) _files ;;
    (dirs) _files -/ ;;
    (*) compadd -- ${=kind} ;;
  esac
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _hai_words hai
"""


def _filled(script: str, by_path: list[str], by_option: list[str]) -> str:
    branches = "|".join(f"'{level.path}'" for level in levels() if level.path and level.verbs)
    script = script.replace("@BRANCHES@", branches)
    return script.replace("@PATHS@", "\n".join(by_path)).replace("@OPTIONS@", "\n".join(by_option))


def bash() -> str:
    """The script for bash."""
    return _filled(_BASH, *_cases())


def zsh() -> str:
    """The script for zsh."""
    by_path, by_option = ([line.replace("    ", "    (", 1) for line in table] for table in _cases())
    return _filled(_ZSH, by_path, by_option)


def fish() -> str:
    """The script for fish."""
    lines = ["# Completion of `hai` for fish. To use it:  hai completion fish | source", "complete -c hai -e"]
    for level in levels():
        seen = level.path.split()
        test = (
            "; and ".join(f"__fish_seen_subcommand_from {word}" for word in seen)
            if seen
            else "not __fish_seen_subcommand_from " + " ".join(verbs.BY_NAME)
        )
        if seen and level.verbs:
            test += "; and not __fish_seen_subcommand_from " + " ".join(level.verbs)
        lines += [f"complete -c hai -f -n '{test}' {part}" for part in _fish_parts(level)]
        if level.kind in ("files", "commands"):
            lines.append(f"complete -c hai -F -n '{test}'")
    return "\n".join(lines) + "\n"


def _fish_parts(level: Level) -> Iterator[str]:
    for name in level.verbs:
        summary = verbs.BY_NAME[name].summary.replace("'", "") if not level.path else ""
        yield f"-a {name}" + (f" -d '{summary}'" if summary else "")
    values, shorts = dict(level.values), dict(level.shorts)
    for name in level.options:
        kind = values.get(name)
        short = f"-s {shorts[name][1]} " if name in shorts else ""
        yield f"{short}-l {name[2:]}" + ("" if kind is None else f" -x -a '{_fish_words(kind)}'" if kind else " -x")
    for kind in (level.kind, level.second):
        if kind and kind not in ("files", "commands"):
            yield f"-a '{_fish_words(kind)}'"


def _fish_words(kind: str) -> str:
    if kind in ("tasks", "nodes", "environments"):
        return f"(hai __complete {kind} 2>/dev/null)"
    if kind in ("files", "dirs"):
        return "(__fish_complete_path)" if kind == "files" else "(__fish_complete_directories)"
    return _words(kind)


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def _configure(parser: argparse.ArgumentParser) -> None:
    option(parser, "shell", "name of the shell", choices=tuple(SHELLS))


def _completion(args: argparse.Namespace, ctx: Context) -> None:
    script = SHELLS[args.shell]()
    if not ctx.answered({"shell": args.shell, "script": script}):
        ctx.out.stdout.write(script)


COMMANDS = {
    "completion": Command(
        "completion",
        _configure,
        _completion,
        about="Print a completion script.",
        examples='examples:\n  eval "$(hai completion bash)"      # in ~/.bashrc\n  hai completion fish | source',
    )
}
