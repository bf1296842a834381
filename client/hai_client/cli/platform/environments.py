"""`hai admin environments`: the images that admins set up (`hai environments` lists them for users)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from hai_client.cli.platform.mounts import subject
from hai_client.cli.shared import parser as words
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Column, Output
from hai_client.errors import Invalid
from hai_client.wire.storage import Environment


def configure_admin(verbs: Any, leaf: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the verbs of `hai admin environments`; `leaf` makes one."""
    leaf(verbs, "list", "list all images, with who may use them", _list)
    setting = leaf(verbs, "set", "write an image, all of it", _set)
    add = setting.add_argument
    add("name", metavar="NAME", help="name of the environment")
    add("--for", dest="subjects", action="append", type=subject, default=[], metavar="SUBJECT",
        help="who may use it: user:NAME, group:NAME or public; can be repeated")  # fmt: skip
    add("--image", metavar="IMAGE", help="container image (the cluster's)")
    add("--python", metavar="PATH", help="absolute path of its Python program (the one that is found)")
    add("-e", "--env", dest="env", action="append", type=words.variable, default=[], metavar="NAME=VALUE",
        help="set a variable; the value may hold {user} and {task}; can be repeated")  # fmt: skip
    add("--glibc", metavar="VERSION", default="",
        help="the glibc of the image, such as 2.31 (`ldd --version` in it): environments that need a newer one are"
        " refused at submission")  # fmt: skip
    add("--machine", metavar="NAME", default="", help="the architecture of the image, such as x86_64 (`uname -m`)")
    add("--default", action="store_true", help="use it for tasks that choose no environment")
    add("--description", default="", metavar="TEXT", help="a note for those who read the list")
    removing = leaf(verbs, "remove", "remove an image; tasks that name it cannot start any more", _remove)
    removing.add_argument("name", metavar="NAME", help="name of the environment")


def _list(_args: argparse.Namespace, ctx: Context) -> int:
    found = ctx.client.environments(everybodys=True, kind="image")
    if ctx.json:
        ctx.out.json({"items": found})
    elif not found:
        ctx.out.line("no images; `hai admin environments set --help` shows how to write one")
    else:
        _table(ctx.out, found)
    return 0


def _table(out: Output, found: Sequence[Environment]) -> None:
    columns = [Column("NAME"), Column("DEFAULT"), Column("IMAGE"), Column("PYTHON"), Column("VARIABLES"), Column("FOR")]
    rows = [
        [
            Cell(one.name, "bold"),
            "yes" if one.default else "-",
            one.image or "-",
            one.python or "-",
            " ".join(sorted(one.variables)) or "-",
            " ".join(one.subjects),
        ]
        for one in found
    ]
    out.table(columns, rows)


def _set(args: argparse.Namespace, ctx: Context) -> int:
    if not args.subjects:
        raise Invalid("for: say who may use it; write for example --for public or --for group:ml")
    one = ctx.client.set_environment(
        args.name,
        args.subjects,
        image=args.image,
        python=args.python,
        variables=dict(args.env),
        description=args.description,
        default=args.default,
        machine=args.machine,
        glibc=args.glibc,
    )
    for warning in one.warnings:
        ctx.out.note(warning)
    if ctx.json:
        ctx.out.json(one)
        return 0
    what = "the default of" if one.default else "free for"
    ctx.out.line(f"{one.name}: {_about(one)}; {what} {', '.join(one.subjects)}, from the next start on")
    return 0


def _about(one: Environment) -> str:
    names = " ".join(sorted(one.variables))
    parts = [
        f"image {one.image}" if one.image else "the cluster's image",
        f"Python {one.python}" if one.python else "",
        f"with {names}" if names else "",
        f"for {one.machine}" if one.machine else "",
        f"glibc {one.glibc}" if one.glibc else "",
    ]
    return ", ".join(part for part in parts if part)


def _remove(args: argparse.Namespace, ctx: Context) -> int:
    ctx.client.delete_environment(args.name)
    if ctx.json:
        ctx.out.json({"deleted": args.name})
    else:
        ctx.out.line(f"image {args.name} is removed; what runs goes on, tasks that name it cannot start any more")
    return 0
