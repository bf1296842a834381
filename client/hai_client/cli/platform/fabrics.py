"""`hai admin fabrics`: what the fast network of a node group asks of the pods of runs, and for whom."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hai_client.cli.platform.mounts import subject
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell
from hai_client.cli.shared.parser import leaf, option
from hai_client.errors import Invalid
from hai_client.quantity import format_bytes, parse_quantity
from hai_client.wire.storage import Fabric

#: The annotation by which Multus gives a pod further networks.
NETWORKS = "k8s.v1.cni.cncf.io/networks"


def configure_admin(verbs: Any) -> None:
    """Add the verbs of `hai admin fabrics`."""
    listing = leaf(verbs, "list", "list all fabrics, or the one that counts for a user", _list)
    option(listing, "--for USER", "the one that counts for this user", dest="user")
    option(listing, "-g, --group GROUP", "with --for: the node group (default: training)")
    putting = leaf(verbs, "put", "try a fabric with a pod, as a dry run, and write it, all of it", _put)
    trying = leaf(verbs, "try", "try a fabric, and write nothing", _try)
    for one in (putting, trying):
        _configure(one)
    removing = leaf(verbs, "rm", "remove a fabric", _remove)
    for one in (putting, trying, removing):
        option(one, "group GROUP", "the node group whose network it is")
        about = "for whose runs: user:NAME, group:NAME or public (public)"
        option(one, "--for SUBJECT", about, subject, dest="subject", default="public")


def _configure(parser: argparse.ArgumentParser) -> None:
    resource = "a resource of device plugins, and how many a rank gets of its node, as in rdma/hca=8; can be repeated"
    option(parser, "--resource NAME=N ...", resource, _resource, dest="resources")
    option(parser, "--shared", "one of a resource serves a whole node: each rank on it gets one, not a share of them")
    networks = "further networks of Multus, with commas, such as roce-0,roce-1"
    option(parser, "--network NAME[,NAME]", networks, dest="networks")
    annotation = "another annotation of the pods; can be repeated"
    option(parser, "--annotation KEY=VALUE ...", annotation, _pair("annotation", "key=value"), dest="annotations")
    variable = "a variable of the ranks, under those of environments and users; can be repeated"
    option(parser, "--var NAME=VALUE ...", variable, _pair("var", "NCCL_IB_HCA=mlx5"), dest="variables")
    option(parser, "--shm SIZE", "size of /dev/shm of a rank that has its whole node (the platform's)", _size("shm"))
    memlock = "memory that a rank must be able to lock, or its log says that RDMA falls back to TCP; 0: no look (1Gi)"
    option(parser, "--memlock SIZE", memlock, _size("memlock"), default=2**30)
    option(parser, "--single-node", "runs of one node get it too")
    option(
        parser, "--host-network", "ranks of whole nodes have the network of their node; no network policy holds there"
    )
    option(parser, "-y, --yes", "with --host-network: do not ask")
    option(parser, "--description TEXT", "a note for those who read the list", default="")


def _pair(field: str, example: str) -> Callable[[str], tuple[str, str]]:
    def read(text: str) -> tuple[str, str]:
        name, given, value = text.partition("=")
        if not name or not given:
            raise Invalid(f"{field}: {text!r} is not NAME=VALUE; write for example --{field} {example}")
        return name, value

    return read


def _resource(text: str) -> tuple[str, int]:
    name, _, count = text.rpartition("=")
    if not name or not count.isascii() or not count.isdigit():
        raise Invalid(f"resource: {text!r} does not say how many of what; write for example --resource rdma/hca=8")
    return name, int(count)


def _size(field: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            return int(parse_quantity(text))
        except ValueError as error:
            raise Invalid(f"{field}: {error}") from None

    return read


def _list(args: argparse.Namespace, ctx: Context) -> None:
    if args.user is None and args.group is not None:
        raise Invalid(f"group: {args.group!r} says where a user's runs are; name the user with --for")
    found = ctx.client.fabrics(user=args.user, group=args.group or "training")
    if ctx.listed(found, "no fabrics; `hai admin fabrics put --help` shows how to write one"):
        return
    rows: list[list[Cell | str]] = [
        [
            Cell(one.group, "bold"),
            one.subject,
            _resources(one) or "-",
            one.annotations.get(NETWORKS) or ("the node's" if one.host_network else "-"),
            " ".join(sorted(one.variables)) or "-",
            _bytes(one.shm_bytes),
            _bytes(one.memlock_bytes),
            one.description,
        ]
        for one in found
    ]
    ctx.out.table("GROUP  FOR  RESOURCES  NETWORKS  VARIABLES  >SHM  >MEMLOCK  DESCRIPTION?", rows)


def _resources(fabric: Fabric) -> str:
    counts = " ".join(f"{name}={count}" for name, count in sorted(fabric.resources.items()))
    return f"{counts} (shared)" if fabric.shared else counts


def _bytes(size: int) -> str:
    return format_bytes(Decimal(size)) if size else "-"


def _of(args: argparse.Namespace) -> Fabric:
    """Return the fabric that the options describe. Raises Invalid."""
    annotations = dict(args.annotations)
    if args.networks is not None:
        if NETWORKS in annotations:
            raise Invalid(f"network: the annotation {NETWORKS} says it too; write one of both")
        annotations[NETWORKS] = args.networks
    return Fabric(
        group=args.group,
        subject=args.subject,
        resources=dict(args.resources),
        shared=args.shared,
        annotations=annotations,
        variables=dict(args.variables),
        shm_bytes=args.shm or 0,
        host_network=args.host_network,
        memlock_bytes=args.memlock,
        single_node=args.single_node,
        description=args.description,
    )


def _put(args: argparse.Namespace, ctx: Context) -> None:
    fabric = _of(args)
    if fabric.host_network and not args.yes and not _agreed(ctx):
        raise Invalid("host_network: not confirmed, and nothing was written; `--yes` does not ask")
    written = ctx.client.put_fabric(fabric)
    ctx.out.note(*written.warnings)
    if not ctx.answered(written):
        ctx.out.line(f"{written.group}: runs of {written.subject} get {_about(written)}, from the next start on")


def _agreed(ctx: Context) -> bool:
    if not sys.stdin.isatty():
        return False
    ctx.out.stderr.write("No network policy holds for pods with the network of their node. Write it? [y/N] ")
    ctx.out.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _about(fabric: Fabric) -> str:
    networks = fabric.annotations.get(NETWORKS)
    parts = [
        _resources(fabric),
        f"the networks {networks}" if networks else "",
        "the network of their nodes" if fabric.host_network else "",
        f"the annotations {' '.join(names)}" if (names := sorted(set(fabric.annotations) - {NETWORKS})) else "",
        f"the variables {' '.join(sorted(fabric.variables))}" if fabric.variables else "",
        f"{_bytes(fabric.shm_bytes)} of /dev/shm" if fabric.shm_bytes else "",
    ]
    return ", ".join(part for part in parts if part)


def _try(args: argparse.Namespace, ctx: Context) -> None:
    fabric = _of(args)
    warnings = ctx.client.try_fabric(fabric)
    ctx.out.note(*warnings)
    about = _about(fabric)
    ctx.answer(
        {"warnings": list(warnings)}, f"{fabric.group}: the cluster takes a rank with {about}; nothing is written"
    )


def _remove(args: argparse.Namespace, ctx: Context) -> None:
    ctx.client.delete_fabric(args.group, args.subject)
    ctx.answer(
        {"deleted": {"group": args.group, "subject": args.subject}},
        f"the fabric of {args.subject} in {args.group} is removed; what runs keeps it",
    )
