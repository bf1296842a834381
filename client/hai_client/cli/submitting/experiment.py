"""`hai run`: submit an experiment file. The service reads the YAML, so that the client needs no parser."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from hai_client import names
from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.parser import Command, option
from hai_client.cli.submitting import python_options, snapshot_options
from hai_client.cli.submitting.submit import add_dry_run, folder, send
from hai_client.errors import Invalid
from hai_client.experiments import MAX_EXPERIMENT_BYTES, too_large
from hai_client.wire.schema import TaskRequest


def _configure(parser: argparse.ArgumentParser) -> None:
    option(parser, "file FILE", "the experiment, as YAML (version 2)")
    option(parser, "-n, --nodes N", "number of nodes, in place of the file's node_count", words_.count("nodes"))
    option(parser, "--gpus K", "GPUs on each node, in place of the file's gpus", words_.count("gpus"))
    option(parser, "-g, --group GROUP", "node group, in place of the file's group")
    words_.add_priority(parser, "-p", "--priority", help_="in place of the file's priority")
    option(parser, "--name NAME", "name of the task, in place of the file's name", names.check_name)
    python_options.add_options(parser)
    snapshot_options.add_options(parser)
    option(parser, "-f, --follow", "show what it prints until it ends")
    add_dry_run(parser)


def _run(args: argparse.Namespace, ctx: Context) -> int:
    request = _read(args.file, ctx)
    # A relative path counts from the file's folder, not from the folder in which `hai run` is called.
    beside = Path(args.file).parent / Path(request.cwd).expanduser()
    changes: dict[str, Any] = {"cwd": folder(str(beside))}
    python = python_options.variables(args, ctx, request.env, request.environment)
    changes["env"] = {**request.env, **python}
    for name in ("nodes", "gpus", "group", "priority", "name"):
        if getattr(args, name) is not None:
            changes[name] = getattr(args, name)
    return send(
        ctx, dataclasses.replace(request, **changes), follow=args.follow, dry_run=args.dry_run, snapshot=args.snapshot
    )


def _read(file: str, ctx: Context) -> TaskRequest:
    text = _text(file)
    try:
        return ctx.client.parse_experiment(text)
    except Invalid as error:
        # Name the file: the service has seen only its text.
        raise Invalid(
            f"file: {file!r} is no experiment: {error.message}", status=error.status, fields=error.fields
        ) from None


def _text(file: str) -> str:
    try:
        with Path(file).open("rb") as stream:
            # Read no more than can be sent: the file may be endless.
            data = stream.read(MAX_EXPERIMENT_BYTES + 1)
        if len(data) > MAX_EXPERIMENT_BYTES:
            raise Invalid(f"file: {file!r} is no experiment: {too_large()}")
        return data.decode()
    except UnicodeDecodeError:
        raise Invalid(f"file: {file!r} is not text in UTF-8; is it the experiment's YAML?") from None
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise Invalid(f"file: {file!r} cannot be read ({why}); give the path of an experiment's YAML") from None


COMMANDS = {
    "run": Command(
        "run",
        _configure,
        _run,
        about="Submit an experiment file. A workspace in it that is not absolute is taken from the file's folder.",
        examples="example:\n  hai run experiment.yml -n 4 -p HIGH -f",
    )
}
