"""`hai admin environments`: the images that admins set up (`hai environments` lists them for users)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from hai_client.cli.platform.mounts import subject
from hai_client.cli.shared import parser as words
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Output
from hai_client.cli.shared.parser import leaf, option
from hai_client.errors import Invalid
from hai_client.wire.storage import Environment


def configure_admin(verbs: Any) -> None:
    """Add the verbs of `hai admin environments`."""
    leaf(verbs, "list", "list all images, with who may use them", _list)
    setting = leaf(verbs, "set", "write an image, all of it", _set)
    option(setting, "name NAME", "name of the environment")
    option(
        setting,
        "--for SUBJECT ...",
        "who may use it: user:NAME, group:NAME or public; can be repeated",
        subject,
        dest="subjects",
    )
    option(setting, "--image IMAGE", "container image (the cluster's)")
    option(setting, "--python PATH", "absolute path of its Python program (the one that is found)")
    option(
        setting,
        "-e, --env NAME=VALUE ...",
        "set a variable; the value may hold {user} and {task}; can be repeated",
        words.variable,
        dest="env",
    )
    option(
        setting,
        "--glibc VERSION",
        "the glibc of the image, such as 2.31 (`ldd --version` in it): environments that need a newer one are"
        " refused at submission",
        default="",
    )
    option(setting, "--machine NAME", "the architecture of the image, such as x86_64 (`uname -m`)", default="")
    option(setting, "--default", "use it for tasks that choose no environment")
    option(setting, "--description TEXT", "a note for those who read the list", default="")
    removing = leaf(verbs, "remove", "remove an image; tasks that name it cannot start any more", _remove)
    option(removing, "name NAME", "name of the environment")


def _list(_args: argparse.Namespace, ctx: Context) -> None:
    found = ctx.client.environments(everybodys=True, kind="image")
    if not ctx.listed(found, "no images; `hai admin environments set --help` shows how to write one"):
        _table(ctx.out, found)


def _table(out: Output, found: Sequence[Environment]) -> None:
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
    out.table("NAME  DEFAULT  IMAGE  PYTHON  VARIABLES  FOR", rows)


def _set(args: argparse.Namespace, ctx: Context) -> None:
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
    ctx.out.note(*one.warnings)
    if ctx.answered(one):
        return
    what = "the default of" if one.default else "free for"
    ctx.out.line(f"{one.name}: {_about(one)}; {what} {', '.join(one.subjects)}, from the next start on")


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


def _remove(args: argparse.Namespace, ctx: Context) -> None:
    ctx.client.delete_environment(args.name)
    ctx.answer(
        {"deleted": args.name},
        f"image {args.name} is removed; what runs goes on, tasks that name it cannot start any more",
    )
