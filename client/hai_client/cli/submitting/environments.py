"""`hai environments`: what tasks can run in, and builds of environments by the platform."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hai_client.cli.shared import parser as words
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Column
from hai_client.cli.shared.parser import Command, leaf, option, run_leaf
from hai_client.cli.tasks.follow import follow_to_end
from hai_client.errors import Invalid
from hai_client.wire.storage import Environment, HaienvFacts

VERBS = ("create", "install", "uninstall", "rebuild", "rollback", "share", "unshare", "remove")
_COLUMNS = ("NAME", "KIND", "DEFAULT", "PYTHON", "GENERATION", "SIZE", "ABOUT")


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(handler=_list)
    _add_list_options(parser)
    words.add_common(parser)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    listing = leaf(verbs, "list", "list them (the default)", _list)
    _add_list_options(listing)
    show = leaf(verbs, "show", "what a name means, with its packages", _show)
    option(show, "name ENVIRONMENT", "name, such as vision, groups/cv/vision@3 or images/torch")
    build = leaf(verbs, "build", "have the platform create or change an environment, as a task", _build)
    option(build, "action ACTION", f"one of {', '.join(VERBS)}", choices=VERBS)
    option(build, "name ENVIRONMENT", "groups/GROUP/NAME, base/NAME, or NAME: your own; @N to roll back")
    option(
        build,
        "requirements REQUIREMENT",
        "package with a version, such as timm==1.0.20; for uninstall, its name alone",
        nargs="*",
    )
    option(build, "--extend BASE", "create: begin with all packages of this environment, such as base/torch")
    option(build, "-p, --python VERSION", "create: version of Python, such as 3.11")
    option(build, "--no-kernel", "create: make no kernel for Jupyter")
    option(build, "--description TEXT", "create: a note for those who read the list", default="")
    option(build, "--group GROUP ...", "share: with a group", dest="groups")
    option(build, "--user USER ...", "share: with a user", dest="users")
    option(build, "--everyone", "share: with everybody")
    option(build, "-f, --follow", "show the log until it ends")


def _add_list_options(parser: argparse.ArgumentParser) -> None:
    # Without a default, which would overwrite the option that was given before the verb.
    option(parser, "-a, --all", "show environments that you may not use, too (for admins)", default=argparse.SUPPRESS)


def _list(args: argparse.Namespace, ctx: Context) -> None:
    found = ctx.client.environment_list(everybodys=getattr(args, "all", False))
    ctx.out.note(*found.warnings)
    if ctx.json:
        ctx.out.json(found)
    elif not found.items:
        ctx.out.line(
            "there is none: your tasks run in the platform's own; make one with `hai environments build create NAME`"
        )
    else:
        ctx.out.table([Column(title) for title in _COLUMNS], [_row(one) for one in found.items])


def _row(one: Environment) -> Sequence[Cell | str]:
    name, default = Cell(one.name, "bold"), "yes" if one.chosen else "-"
    if one.haienv is None:
        about = ", ".join(part for part in (one.image, one.description) if part)
        return [name, "image", default, one.python or "-", "-", "-", about or "-"]
    facts = one.haienv
    about = facts.trouble or ("has a draft" if facts.draft else "-")
    size = "-" if facts.size is None else _quantity(facts.size)
    return [name, "haienv", default, facts.python or "-", _of(facts), size, about]


def _of(facts: HaienvFacts) -> str:
    return "-" if facts.generation is None else f"{facts.generation} ({facts.digest[7:19]})"


def _quantity(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def _show(args: argparse.Namespace, ctx: Context) -> None:
    one = ctx.client.environment(args.name)
    if ctx.answered(one):
        return
    facts = one.haienv
    if facts is None:
        names = " ".join(sorted(one.variables))
        rows = [("environment", one.full_name), ("about", one.description), ("image", one.image or "the cluster's")]
        rows += [("python", one.python or ""), ("variables", names)]
        rows += [("machine", one.machine), ("glibc", one.glibc)]
    else:
        current = "" if one.generation == facts.generation else " (not current)"
        rows = [
            ("environment", f"{one.full_name}@{one.generation}{current}"),
            ("trouble", facts.trouble),
            ("python", f"{facts.python} ({one.prefix}/bin/python)"),
            ("cuda", facts.cuda or ""),
            ("extends", facts.extends or ""),
            ("files", f"{facts.files}, {_quantity(facts.size or 0)}, {facts.digest[:19]}"),
            ("built", f"{facts.built_at} by {facts.built_by}"),
            ("generations", ", ".join(map(str, facts.generations))),
            ("draft", "there is one" if facts.draft else ""),
            ("packages", str(len(one.packages))),
        ]
    for label, text in rows:
        if text:
            ctx.out.line(f"{label:<12} {text}")
    for name, version in one.packages.items():
        ctx.out.line(f"  {name} {version}")


def _build(args: argparse.Namespace, ctx: Context) -> int:
    name, at, number = args.name.partition("@")
    if at and (args.action != "rollback" or not number.isdigit()):
        raise Invalid(f"environment: {args.name!r} names a generation, which is for rollback; write {name}")
    task = ctx.client.build_environment(
        name,
        args.action,
        requirements=args.requirements,
        extend=args.extend,
        python=args.python,
        kernel=not args.no_kernel,
        description=args.description,
        generation=int(number) if at else None,
        groups=args.groups,
        users=args.users,
        everyone=args.everyone,
    )
    ctx.out.note(*task.warnings)
    if ctx.json and not args.follow:
        ctx.out.json(task)
        return 0
    if not args.follow:
        ctx.out.line(f"task {task.id} does it ({' '.join(task.command)}); `hai logs -f {task.id}` shows its log")
        return 0
    return follow_to_end(ctx, task)


COMMANDS = {
    "environments": Command(
        "environments",
        _configure,
        run_leaf,
        about=(
            "List what your tasks and containers can run in: images, which admins set up, and environments of haienv\n"
            "(your own, your groups', base ones and those shared with you). DEFAULT is the image that you get when\n"
            "you choose none. `build` has the platform make one, as a task; your own you can also make with haienv."
        ),
        examples=(
            "examples:\n  hai environments\n  hai environments show vision\n"
            "  hai environments build install groups/cv/vision timm==1.0.20 -f\n"
            "  hai submit --environment groups/cv/vision -- python train.py"
        ),
    )
}
