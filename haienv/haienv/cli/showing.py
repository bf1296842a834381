"""The verbs that only read: `list`, `show` and `diff`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from haienv.cli.parser import add_name, add_verb, filled
from haienv.cli.session import changes, chosen, note, registry
from haienv.shared.space import quantity
from haienv.store import lockfile, names, shared
from haienv.store import manifest as manifests
from haienv.store import spec as specs
from haienv.store.names import USERS, Owner
from haienv.store.registry import Listed


def add_verbs(verbs: Any) -> None:
    """Add the verbs."""
    listing = add_verb(verbs, "list", "list environments", _list)
    listing.add_argument("-a", "--all", action="store_true", help="of all users")
    listing.add_argument("-u", "--user", metavar="USER", type=filled, help="show environments of this user")
    listing.add_argument(
        "--offer", action="store_true", help="and let your JupyterLab offer the kernels of those that others share"
    )
    # The original's form.
    listing.add_argument("-o", "--output", choices=("json",), help=argparse.SUPPRESS)
    show = add_verb(verbs, "show", "show what an environment holds", _show)
    add_name(show)
    diff = add_verb(verbs, "diff", "show which packages differ between two generations", _diff)
    diff.add_argument("before", metavar="NAME@N")
    diff.add_argument("after", metavar="NAME[@N]", nargs="?", help="(default: the current generation of the first one)")


def _list(arguments: argparse.Namespace) -> int:
    known = registry()
    if arguments.offer:
        try:
            shared.offer(known.root, known.caller)
        except OSError as error:
            note(f"the kernels of others are not offered: {error.filename}: {error.strerror}")
    owners: list[Owner] | None = list(known.owners())
    others = shared.environments(known.root, known.caller) if not (arguments.all or arguments.user) else []
    if arguments.all:
        owners = None
    elif arguments.user:
        owners = [Owner(USERS, names.check("user", arguments.user))]
    found = known.listed(owners, others)
    if arguments.json or arguments.output == "json":
        print(json.dumps({"items": [_data(one) for one in found]}, indent=1))
        return 0
    if not found:
        print("there is none; `haienv create NAME PACKAGE ...` makes one of your own")
        return 0
    rows = [("NAME", "GENERATION", "PYTHON", "CUDA", "FILES", "SIZE", "BUILT")]
    for one in found:
        m = one.manifest
        if m is None:
            rows.append((str(one.name), "-", "-", "-", "-", "-", one.trouble))
        else:
            size = quantity(m.size)
            rows.append((str(one.name), str(m.generation), m.python, m.cuda or "-", str(m.files), size, m.built_at))
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    return 0


def _data(one: Listed) -> dict[str, Any]:
    manifest = asdict(one.manifest) if one.manifest else {}
    return {"name": str(one.name), "trouble": one.trouble, "draft": one.draft, **manifest}


def _show(arguments: argparse.Namespace) -> int:
    env, generation = chosen(arguments)
    manifest = manifests.read(generation.manifest)
    pins = lockfile.read(generation.lock)
    others = [one.number for one in env.generations()]
    current = env.current()
    if arguments.json:
        more = {"packages": pins, "generations": others, "current": current.number if current else None}
        print(json.dumps({**asdict(manifest), **more, "prefix": str(generation.prefix)}, indent=1))
        return 0
    spec = specs.read(env.spec)
    facts = [
        ("environment", f"{env.name}@{generation.number}" + ("" if generation == current else " (not current)")),
        ("about", spec.description),
        ("python", f"{manifest.python} ({generation.python})"),
        ("cuda", manifest.cuda or ""),
        ("extends", manifest.extends or ""),
        ("asked for", ", ".join(manifest.requirements)),
        ("files", f"{manifest.files}, {quantity(manifest.size)}, {manifest.digest[:19]}"),
        ("built", f"{manifest.built_at} by {manifest.built_by}"),
        ("generations", ", ".join(map(str, others))),
        ("packages", str(len(pins))),
    ]
    for label, text in facts:
        if text:
            print(f"{label:<12} {text}")
    for name, version in pins.items():
        print(f"  {name} {version}")
    return 0


def _diff(arguments: argparse.Namespace) -> int:
    known = registry()
    first = names.parse(arguments.before)
    _, before = known.generation(first)
    other = names.parse(arguments.after) if arguments.after else names.Reference(first.name, first.owner)
    _, after = known.generation(other)
    old, new = lockfile.read(before.lock), lockfile.read(after.lock)
    if arguments.json:
        print(json.dumps({"changes": [asdict(one) for one in lockfile.diff(old, new)]}, indent=1))
        return 0
    one, two = manifests.read(before.manifest), manifests.read(after.manifest)
    if one.python != two.python:
        print(f"~ python {one.python} -> {two.python}")
    lines = changes(old, new)
    print("\n".join(lines) if lines else "the packages are the same")
    return 0
