"""`hai cluster`: install, upgrade and uninstall the platform on a Kubernetes cluster with Helm."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Output, plural
from hai_client.cli.shared.parser import Command, add_common, build, option
from hai_client.durations import parse_duration
from hai_client.errors import HaiError, Invalid
from hai_hub.cluster import load
from hai_hub.cluster.chart import Chart
from hai_hub.cluster.helm import Release

_EXAMPLES: Final = """\
examples:
  hai cluster config > values.yaml
  hai cluster config values.yaml
  hai cluster dry-run -f values.yaml
  hai cluster up -f values.yaml
  hai cluster upgrade
  hai cluster down
  hai cluster load FOLDER --registry registry.example.org/hai --out images.yaml"""
#: The label that the scheduler puts on all objects of a run.
_RUNS: Final = "app.kubernetes.io/managed-by=hai"


def command(argv: Sequence[str]) -> int:
    """Run `hai cluster` with these arguments.

    Returns:
        The exit code: 0 on success, 1 when something failed, 2 for wrong input.

    Raises:
        HaiError: A step failed; the message says which, in one line.
    """
    args = build(COMMAND).parse_args(argv)
    context = Context(Output.of_process(), json=getattr(args, "json", False), url=getattr(args, "url", None))
    return COMMAND.run(args, context) or 0


def _configure(parser: argparse.ArgumentParser) -> None:
    group: Any = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, (help_, declare, _) in _VERBS.items():
        leaf = group.add_parser(name, help=help_, description=help_, allow_abbrev=False)
        if name != "load":
            option(leaf, "--chart DIR", "folder of the chart (default: the chart that came with HAI)")
        declare(leaf)
        add_common(leaf)


def _run(args: argparse.Namespace, context: Context) -> int:
    return _VERBS[args.verb][2](args, context)


def _declare_release(parser: argparse.ArgumentParser) -> None:
    option(parser, "--release NAME", "name of the release (default: hai)", default="hai")
    option(parser, "--namespace, -n NAME", "namespace of the platform (default: hai)", default="hai")
    option(parser, "--context NAME", "context of kubeconfig (default: the current one)")


def _declare_config(parser: argparse.ArgumentParser) -> None:
    option(parser, "file FILE", "values file to check; without one, print all values", nargs="?")


def _declare_values(parser: argparse.ArgumentParser) -> None:
    _declare_release(parser)
    option(parser, "--values, -f FILE ...", "values file; the last one wins")
    option(parser, "--reset-values", "values that were chosen before do not hold, only those of the files")


def _declare_up(parser: argparse.ArgumentParser) -> None:
    _declare_values(parser)
    option(parser, "--wait TIME", "how long to wait until the platform is ready (default: 10m)", default="10m")


def _declare_down(parser: argparse.ArgumentParser) -> None:
    _declare_release(parser)
    option(parser, "--yes, -y", "do not ask")
    option(parser, "--delete-data", "delete databases, secrets and users' home folders too")


def _release(args: argparse.Namespace) -> Release:
    return Release(name=args.release, namespace=args.namespace, context=args.context)


def _config(args: argparse.Namespace, context: Context) -> int:
    """Print all values, or check a file."""
    chart = Chart.find(args.chart)
    if args.file is None:
        if context.json:
            context.out.json(chart.values)
        else:
            context.out.line(chart.text.rstrip())
        return 0
    found = _problems(chart, [args.file])
    if context.json:
        context.out.json({"file": args.file, "problems": found})
    elif not found:
        context.out.line(f"{args.file} is right")
    else:
        context.out.line("\n".join(found))
    return 2 if found else 0


def _problems(chart: Chart, files: Sequence[str]) -> list[str]:
    from hai_hub.cluster.chart_values import problems

    found = []
    for file in files:
        try:
            text = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Invalid(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
        found += problems(text, chart.schema, file=file)
    return found


def _checked(args: argparse.Namespace) -> Chart:
    """Return the chart after a check of the values files. Raises Invalid with the first problem."""
    chart = Chart.find(args.chart)
    if found := _problems(chart, args.values):
        raise Invalid(f"{_first(found)}; `hai cluster config {args.values[0]}` shows all")
    return chart


def _check_kept(release: Release, chart: Chart, args: argparse.Namespace) -> None:
    """Look at the values that were chosen before, if they are to hold. Raises Invalid with the first problem."""
    from hai_hub.cluster.chart_values import problems

    if args.reset_values or not (found := problems(release.kept(), chart.schema, file="values chosen before")):
        return
    raise Invalid(
        f"{_first(found)}; `{release.typed('get', 'values', release.name)} > values.yaml` writes them to a file: "
        "correct it there, then say --reset-values -f values.yaml"
    )


def _first(found: Sequence[str]) -> str:
    return found[0] + (f" (and {plural(len(found) - 1, 'more problem')})" if len(found) > 1 else "")


def _dry_run(args: argparse.Namespace, context: Context) -> int:
    """Print what `up` would change."""
    from hai_hub.cluster.manifests import differences

    chart, release = _checked(args), _release(args)
    before = release.manifest()
    if before is not None:
        _check_kept(release, chart, args)
    after = release.rendered(chart, args.values, reset=args.reset_values)
    found = differences(before, after, namespace=release.namespace)
    if context.json:
        context.out.json(found)
        return 0
    for change in found:
        context.out.line(f"{change.change:<8} {change.kind} {change.namespace}/{change.name}")
        for line in change.lines:
            context.out.line(f"         {line}")
    context.out.line(f"{plural(len(found), 'object')} would change" if found else "nothing would change")
    return 0


def _up(args: argparse.Namespace, context: Context) -> int:
    """Install the platform, and print the chart's notes."""
    chart, release = _checked(args), _release(args)
    _install(release, chart, args, context)
    context.out.line(release.notes())
    return 0


def _upgrade(args: argparse.Namespace, context: Context) -> int:
    """Upgrade an installation, and say how to go back, also where it fails."""
    chart, release = _checked(args), _release(args)
    if release.manifest() is None:
        raise Invalid(f"there is no release {release.name} in {release.namespace}; `hai cluster up` installs it")
    _check_kept(release, chart, args)
    back = release.way_back(wait=args.wait)
    try:
        _install(release, chart, args, context)
    except Invalid:
        raise
    except HaiError as error:
        raise HaiError(f"{error.message}; to go back: {back}") from error
    context.out.line(f"{release.name} is up to date; running tasks and servers went on meanwhile")
    context.out.line(f"to go back: {back}")
    return 0


def _install(release: Release, chart: Chart, args: argparse.Namespace, context: Context) -> None:
    end = time.monotonic() + parse_duration(args.wait, field="--wait")
    context.out.note(f"Installing {release.name} in {release.namespace}, and waiting until it is ready")
    try:
        release.install(chart, args.values, wait=args.wait, reset=args.reset_values)
        # Helm waits for the Hub. A scheduler in the Hub's pod is started by the Hub, so it is ready later.
        release.until_scheduler_answers(within=max(0.0, end - time.monotonic()))
    except Invalid:
        raise
    except HaiError as error:
        look = f"kubectl -n {release.namespace} get pods; kubectl -n {release.namespace} get events"
        raise HaiError(f"{error.message}; look at: {look}") from error


def _down(args: argparse.Namespace, context: Context) -> int:
    """Uninstall the platform; running tasks are told to save."""
    release = _release(args)
    if release.manifest() is None:
        raise Invalid(f"there is no release {release.name} in {release.namespace}; `helm list -A` shows all")
    workloads = release.workloads()
    _ask(args, release, workloads)
    release.helm("uninstall", release.name, "--wait")
    # The scheduler is gone, so nothing restarts these pods. A deleted pod still gets its task's time to save.
    release.kubectl("delete", "services", "--selector", _RUNS, "--wait=false", namespace=workloads)
    if args.delete_data:
        _delete_data(release, workloads)
        context.out.line(f"{release.name} is down, and its data are deleted")
    else:
        context.out.line(
            f"{release.name} is down. Databases, secrets and home folders are kept: `hai cluster up` with the same "
            "names goes on with them."
        )
    return 0


def _ask(args: argparse.Namespace, release: Release, workloads: str) -> None:
    """Ask the user to type the release's name. Raises Invalid for any other answer."""
    if args.yes:
        return
    if not sys.stdin.isatty():
        raise Invalid("nobody is here to ask: say --yes")
    what = f"Take down {release.name} in {release.namespace}: running tasks are told to save and end"
    what += f", and DELETE databases, secrets and all of {workloads}" if args.delete_data else "; data are kept"
    if input(f"{what}.\nType {release.name} to go on: ").strip() != release.name:
        raise Invalid("nothing was done")


def _delete_data(release: Release, workloads: str) -> None:
    selector = f"app.kubernetes.io/name=hai,app.kubernetes.io/instance={release.name}"
    release.kubectl("delete", "secrets,persistentvolumeclaims", "--selector", selector)
    if workloads != release.namespace:
        release.kubectl("delete", "namespace", workloads, "--ignore-not-found", "--wait=false")


_Verb = tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace, Context], int]]
_VERBS: Final[dict[str, _Verb]] = {
    "config": ("print all values with what they mean, or check a values file", _declare_config, _config),
    "dry-run": ("show what an installation or upgrade would change", _declare_values, _dry_run),
    "up": ("install the platform, and wait until it is ready", _declare_up, _up),
    "upgrade": ("bring an installation up to date; running tasks go on", _declare_up, _upgrade),
    "load": (load.ABOUT, load.declare, load.load),
    "down": ("uninstall the platform; data are kept unless told otherwise", _declare_down, _down),
}

COMMAND: Final = Command(
    name="cluster",
    configure=_configure,
    run=_run,
    about="The whole platform on a Kubernetes cluster, with Helm and the cluster that kubeconfig names.",
    examples=_EXAMPLES,
)
