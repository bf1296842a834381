"""The options of `hai sim`: declared here, interpreted in `settings`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from hai_client.cli.shared.parser import count, duration
from hai_client.durations import parse_duration
from hai_client.errors import Invalid

FORMATS = ("native", "philly", "muri", "tiresias")
DISCIPLINES = ("hai", "fifo", "backfill", "las", "sjf", "srtf")
_DAY = len("2026-12-31")


def replay(parser: argparse.ArgumentParser) -> None:
    """Declare `hai sim replay`."""
    _trace(parser)
    _cluster(parser)
    parser.add_argument("--policy", metavar="NAME", choices=DISCIPLINES, default="hai", help="the rules (default: hai)")
    parser.add_argument("--timeline", metavar="FILE", help="write the occupancy of the cluster over time, as CSV")


def compare(parser: argparse.ArgumentParser) -> None:
    """Declare `hai sim compare`."""
    _trace(parser)
    _cluster(parser)
    parser.add_argument(
        "--policies",
        metavar="NAMES",
        type=lambda text: text.split(","),
        default=["hai", "fifo", "las", "srtf"],
        help="rules with commas between them, hai/slice=2h with a policy number (default: hai,fifo,las,srtf)",
    )
    parser.add_argument("--picture", metavar="FILE", help="draw occupancy and waiting: .png, .svg or .pdf")
    parser.add_argument("--html", metavar="FILE", help="write a report as one HTML page")


def generate(parser: argparse.ArgumentParser) -> None:
    """Declare `hai sim generate`."""
    parser.add_argument("--tasks", metavar="N", type=count("tasks", least=2), required=True, help="number of tasks")
    parser.add_argument(
        "--load",
        metavar="X",
        type=_above_zero("load"),
        required=True,
        help="work as a share of what the nodes could do: 0.9",
    )
    parser.add_argument(
        "--nodes", metavar="N", type=count("nodes"), required=True, help="number of nodes that the load refers to"
    )
    _gpus(parser)
    _seed(parser)
    _output(parser)


def export(parser: argparse.ArgumentParser) -> None:
    """Declare `hai sim export`."""
    _window(parser)
    parser.add_argument("-g", "--group", metavar="GROUP", help="only tasks of this node group")
    parser.add_argument("--names", action="store_true", help="keep the names of tasks and users")
    parser.add_argument("--limits", action="store_true", help="write time limits; takes one request for each task")
    _output(parser)


def plan(parser: argparse.ArgumentParser) -> None:
    """Declare `hai sim plan`."""
    parser.add_argument("file", metavar="FILE", help="a recorded snapshot")
    parser.add_argument("--policy", metavar="NAME", choices=DISCIPLINES, help="other rules than the recorded ones")
    _numbers(parser)


# -- what verbs share -----------------------------------------------------------------------------


def _trace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a trace")
    parser.add_argument(
        "--format", metavar="NAME", choices=FORMATS, default="native", help="format of the trace (default: native)"
    )
    _window(parser)
    pools = parser.add_mutually_exclusive_group()
    pools.add_argument("--pooled", action="store_true", help="all virtual clusters share the nodes (the default)")
    pools.add_argument(
        "--vc", metavar="NAME", action="append", default=[], help="only this virtual cluster or user group"
    )
    parser.add_argument("-g", "--group", metavar="GROUP", help="only jobs for this node group")
    parser.add_argument(
        "--users",
        metavar="N",
        type=count("users"),
        default=20,
        help="users to make up in each user group of a trace that names none (default: 20)",
    )
    parser.add_argument("--skip-too-large", action="store_true", help="leave out jobs larger than the cluster")


def _cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", metavar="N", type=count("nodes"), required=True, help="nodes of the cluster")
    _gpus(parser)
    parser.add_argument(
        "--leaf-size",
        metavar="N",
        type=count("leaf-size", least=0),
        default=20,
        help="nodes of a leaf switch; 0: all (default: 20)",
    )
    parser.add_argument(
        "--zone-size",
        metavar="N",
        type=count("zone-size", least=0),
        default=0,
        help="nodes of a zone; 0: all (default: 0)",
    )
    _numbers(parser)
    parser.add_argument(
        "--restart-cost", metavar="LENGTH", type=_length("restart-cost"), default=timedelta(seconds=60),
        help="how much longer a start after the first takes (default: 60s)",
    )  # fmt: skip
    parser.add_argument(
        "--saves-every", metavar="LENGTH", type=_length("saves-every", least_s=1),
        help="how often jobs save by themselves, where the trace does not say (default: never)",
    )  # fmt: skip
    parser.add_argument(
        "--neither", metavar="SHARE", type=_share, default=0.0,
        help="share of the jobs that neither catch a signal nor poll, where the trace does not say (default: 0)",
    )  # fmt: skip
    parser.add_argument(
        "--fail", metavar="NAME", choices=("fireflyer",), help="let nodes fail, at these rates: fireflyer"
    )
    parser.add_argument(
        "--fail-scale",
        metavar="X",
        type=_above_zero("fail-scale"),
        default=1.0,
        help="multiply the rates of --fail by this (default: 1)",
    )
    parser.add_argument(
        "--repair", metavar="LENGTH", type=_length("repair", least_s=1), default=timedelta(hours=4),
        help="how long a failed node is gone (default: 4h)",
    )  # fmt: skip
    parser.add_argument(
        "--tick", metavar="LENGTH", type=_length("tick", least_s=0.001), default=timedelta(seconds=1),
        help="plans are made at multiples of this time (default: 1s)",
    )  # fmt: skip
    _seed(parser)
    parser.add_argument("--progress", action="store_true", help="show progress also where the output is not a terminal")


def _numbers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", metavar="NAME=VALUE", dest="numbers", type=assignment, action="append", default=[],
        help="a policy number, as `hai policy` lists them: min_run=15m",
    )  # fmt: skip


def _gpus(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--gpus-per-node", metavar="N", type=count("gpus-per-node"), default=8, help="GPUs of a node (default: 8)"
    )


def _seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seed", metavar="N", type=count("seed", least=0), default=0, help="seed of all random choices (default: 0)"
    )


def _output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (default: print)")


def _window(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        metavar="TIME",
        dest="begin",
        type=_begin,
        help="only jobs submitted from this time on: 2017-10-01, or 2d after the first",
    )
    parser.add_argument(
        "--to", metavar="TIME", dest="end", type=_end, help="only jobs submitted before this time; a day is included"
    )


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
