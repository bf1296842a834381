"""`hai secret`: set, list and remove your secrets, and `hai admin secrets`. No value is ever an argument, or shown."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path
from typing import Any

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import ago
from hai_client.cli.shared.parser import Command, leaf, option, run_leaf
from hai_client.constants import LEAST_REDACTED
from hai_client.errors import Invalid


def _configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="secret_verb", metavar="VERB", required=True)
    setting = leaf(verbs, "set", "set a secret: its value is asked for, or read from a file", _set)
    option(setting, "name NAME", "name of the secret, such as HF_TOKEN")
    # Taken so that a value that was given by mistake is not repeated in an error.
    setting.add_argument("value", nargs="*", help=argparse.SUPPRESS)
    ways = setting.add_mutually_exclusive_group()
    option(ways, "--stdin", "read the value from standard input, without the line end at its end")
    option(ways, "--file FILE", "read the value from a file, as it is")
    leaf(verbs, "list", "list your secrets: names, versions, and when they were used", _list)
    removing = leaf(verbs, "remove", "remove a secret: tasks that name it do not start any more", _remove)
    option(removing, "name NAME", "name of the secret")


def _set(args: argparse.Namespace, ctx: Context) -> None:
    if args.value:
        raise Invalid(
            "value: others can read the words of a command line, so it takes none; leave it out and type the value when"
            " you are asked, or use --stdin or --file FILE"
        )
    made = ctx.client.set_secret(args.name, _value(args))
    use = f"--secret {made.name}" if made.text else f"--secret-file PATH={made.name}"
    ctx.answer(made, f"{made.name} is set, version {made.version}; tasks get it by {use}")
    if not made.redacted:
        ctx.out.note(f"it has fewer than {LEAST_REDACTED} bytes, so logs that print it will show it")


def _value(args: argparse.Namespace) -> bytes:
    if args.file is not None:
        try:
            return Path(args.file).read_bytes()
        except OSError as error:
            raise Invalid(f"file: {args.file} cannot be read ({error.strerror}); name another one") from None
    if args.stdin:
        data = sys.stdin.buffer.read()
        line = data[:-1] if data.endswith(b"\n") else data
        return line[:-1] if line.endswith(b"\r") else line
    if not sys.stdin.isatty():
        raise Invalid("value: there is no terminal to ask at; use --stdin or --file FILE")
    try:
        return getpass.getpass(f"value of {args.name.partition('=')[0]}: ").encode()
    except EOFError:
        raise Invalid("value: none given; try again") from None


def _list(_args: argparse.Namespace, ctx: Context) -> None:
    found = ctx.client.secrets()
    if ctx.listed(found, "no secrets; `hai secret set HF_TOKEN` sets one"):
        return
    rows = [
        [
            one.name,
            str(one.version),
            "variable or file" if one.text else "file",
            ago(one.set_at),
            "never" if one.used_at is None else ago(one.used_at),
            "" if one.used_by is None else str(one.used_by),
        ]
        for one in found
    ]
    ctx.out.table("NAME  VERSION>  FOR  SET  USED  TASK>", rows)


def _remove(args: argparse.Namespace, ctx: Context) -> None:
    ctx.client.remove_secret(args.name)
    ctx.answer({"removed": args.name}, f"{args.name} is removed")


def configure_admin(verbs: Any) -> None:
    """Add the verbs of `hai admin secrets`."""
    leaf(verbs, "reseal", "seal the secrets of all users with the newest key, after a change of keys", _reseal)


def _reseal(_args: argparse.Namespace, ctx: Context) -> int:
    done = ctx.client.reseal_secrets()
    if not ctx.answered(done):
        ctx.out.line(f"{done.resealed} sealed with the newest key, {done.already} were before")
        if done.lost:
            ctx.out.line(f"{done.lost} open with none of the keys: put the missing key back, or have them set again")
        for name in done.lost_names:
            ctx.out.line(f"  {name}")
    return 1 if done.lost else 0


COMMANDS = {
    "secret": Command(
        "secret",
        _configure,
        run_leaf,
        about=(
            "Keys and passwords that your tasks get when they start, as variables or as files in memory. They are\n"
            "kept sealed, are shown to nobody, and are taken out of logs."
        ),
        examples=(
            "examples:\n"
            "  hai secret set HF_TOKEN\n"
            "  hai secret set netrc --file ~/.netrc\n"
            "  pass show wandb | hai secret set wandb --stdin\n"
            "  hai submit --secret HF_TOKEN --secret WANDB_API_KEY=wandb -- python train.py\n"
            "  hai submit --secret-file ~/.netrc=netrc -- python train.py"
        ),
    )
}
