"""The options of `hai sim`: declared here, interpreted in `settings`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from hai_client.cli.shared.parser import count, duration, option
from hai_client.durations import parse_duration
from hai_client.errors import Invalid

FORMATS = ("native", "philly", "muri", "tiresias")
DISCIPLINES = ("hai", "fifo", "backfill", "las", "sjf", "srtf")
_DAY = len("2026-12-31")


def replay(parser: argparse.ArgumentParser) -> None:
    """Declare `hai sim replay`."""
    _trace(parser)
    _cluster(parser)
    option(parser, "--policy NAME", "the rules (default: hai)", choices=DISCIPLINES, default="hai")
    option(parser, "--timeline FILE", "write the occupancy of the cluster over time, as CSV")


def compare(parser: argparse.ArgumentParser) -> None:
    """Declare `hai sim compare`."""
    _trace(parser)
    _cluster(parser)
    option(
        parser,
        "--policies NAMES",
        "rules with commas between them, hai/slice=2h with a policy number (default: hai,fifo,las,srtf)",
        lambda text: text.split(","),
        default=["hai", "fifo", "las", "srtf"],
    )
    option(parser, "--picture FILE", "draw occupancy and waiting: .png, .svg or .pdf")
    option(parser, "--html FILE", "write a report as one HTML page")


def generate(parser: argparse.ArgumentParser) -> None:
    """Declare `hai sim generate`."""
    option(parser, "--tasks N", "number of tasks", count("tasks", least=2), required=True)
    option(parser, "--load X", "work as a share of what the nodes could do: 0.9", _above_zero("load"), required=True)
    option(parser, "--nodes N", "number of nodes that the load refers to", count("nodes"), required=True)
    _gpus(parser)
    _seed(parser)
    _output(parser)


def export(parser: argparse.ArgumentParser) -> None:
    """Declare `hai sim export`."""
    _window(parser)
    option(parser, "-g, --group GROUP", "only tasks of this node group")
    option(parser, "--names", "keep the names of tasks and users")
    option(parser, "--limits", "write time limits; takes one request for each task")
    _output(parser)


def plan(parser: argparse.ArgumentParser) -> None:
    """Declare `hai sim plan`."""
    option(parser, "file FILE", "a recorded snapshot")
    option(parser, "--policy NAME", "other rules than the recorded ones", choices=DISCIPLINES)
    _numbers(parser)


# -- what verbs share -----------------------------------------------------------------------------


def _trace(parser: argparse.ArgumentParser) -> None:
    option(parser, "file FILE", "a trace")
    option(parser, "--format NAME", "format of the trace (default: native)", choices=FORMATS, default="native")
    _window(parser)
    pools = parser.add_mutually_exclusive_group()
    option(pools, "--pooled", "all virtual clusters share the nodes (the default)")
    option(pools, "--vc NAME ...", "only this virtual cluster or user group")
    option(parser, "-g, --group GROUP", "only jobs for this node group")
    option(
        parser,
        "--users N",
        "users to make up in each user group of a trace that names none (default: 20)",
        count("users"),
        default=20,
    )
    option(parser, "--skip-too-large", "leave out jobs larger than the cluster")


def _cluster(parser: argparse.ArgumentParser) -> None:
    option(parser, "--nodes N", "nodes of the cluster", count("nodes"), required=True)
    _gpus(parser)
    option(
        parser, "--leaf-size N", "nodes of a leaf switch; 0: all (default: 20)", count("leaf-size", least=0), default=20
    )
    option(parser, "--zone-size N", "nodes of a zone; 0: all (default: 0)", count("zone-size", least=0), default=0)
    _numbers(parser)
    option(
        parser,
        "--restart-cost LENGTH",
        "how much longer a start after the first takes (default: 60s)",
        _length("restart-cost"),
        default=timedelta(seconds=60),
    )
    option(
        parser,
        "--saves-every LENGTH",
        "how often jobs save by themselves, where the trace does not say (default: never)",
        _length("saves-every", least_s=1),
    )
    option(
        parser,
        "--neither SHARE",
        "share of the jobs that neither catch a signal nor poll, where the trace does not say (default: 0)",
        _share,
        default=0.0,
    )
    option(parser, "--fail NAME", "let nodes fail, at these rates: fireflyer", choices=("fireflyer",))
    option(
        parser,
        "--fail-scale X",
        "multiply the rates of --fail by this (default: 1)",
        _above_zero("fail-scale"),
        default=1.0,
    )
    option(
        parser,
        "--repair LENGTH",
        "how long a failed node is gone (default: 4h)",
        _length("repair", least_s=1),
        default=timedelta(hours=4),
    )
    option(
        parser,
        "--tick LENGTH",
        "plans are made at multiples of this time (default: 1s)",
        _length("tick", least_s=0.001),
        default=timedelta(seconds=1),
    )
    _seed(parser)
    option(parser, "--progress", "show progress also where the output is not a terminal")


def _numbers(parser: argparse.ArgumentParser) -> None:
    option(
        parser,
        "--set NAME=VALUE ...",
        "a policy number, as `hai policy` lists them: min_run=15m",
        assignment,
        dest="numbers",
    )


def _gpus(parser: argparse.ArgumentParser) -> None:
    option(parser, "--gpus-per-node N", "GPUs of a node (default: 8)", count("gpus-per-node"), default=8)


def _seed(parser: argparse.ArgumentParser) -> None:
    option(parser, "--seed N", "seed of all random choices (default: 0)", count("seed", least=0), default=0)


def _output(parser: argparse.ArgumentParser) -> None:
    option(parser, "-o, --output FILE", "file to write (default: print)")


def _window(parser: argparse.ArgumentParser) -> None:
    option(
        parser,
        "--from TIME",
        "only jobs submitted from this time on: 2017-10-01, or 2d after the first",
        _begin,
        dest="begin",
    )
    option(parser, "--to TIME", "only jobs submitted before this time; a day is included", _end, dest="end")


def assignment(text: str) -> tuple[str, str]:
    """Read `NAME=VALUE`. Raises Invalid."""
    name, given, value = text.partition("=")
    if not (name and given):
        raise Invalid(f"--set: {text!r} is not NAME=VALUE; write for example --set slice=1h")
    return name.strip(), value.strip()


def _length(field: str, *, least_s: float = 0.0) -> Callable[[str], timedelta]:
    read = duration(field, least_s=least_s)
    return lambda text: timedelta(seconds=read(text))


def _above_zero(field: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value <= 1_000_000:
            raise Invalid(f"{field}: {text!r} is not a number above 0, at most 1000000; write for example 0.9")
        return value

    return read


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise Invalid(f"neither: {text!r} is not a share from 0 to 1; write for example 0.5")
    return value


def _begin(text: str) -> datetime | timedelta:
    return _moment("from", text, day_counts=False)


def _end(text: str) -> datetime | timedelta:
    return _moment("to", text, day_counts=True)


def _moment(field: str, text: str, *, day_counts: bool) -> datetime | timedelta:
    """Read a day, a time (UTC unless it has a zone), or a length of time after the first submission. Raises Invalid."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        try:
            return timedelta(seconds=parse_duration(text, field=field))
        except Invalid:
            raise Invalid(
                f"{field}: {text!r} is neither a time nor a length of time; write 2017-10-01, 2017-10-01T12:00 or 2d"
            ) from None
    if day_counts and len(text) <= _DAY:
        found += timedelta(days=1)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
