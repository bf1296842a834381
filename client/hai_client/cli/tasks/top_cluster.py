"""The screen of `hai top` for the whole cluster."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from hai_client.backports import UTC
from hai_client.cli.shared.output import STATE_STYLES, Cell, Output, plural
from hai_client.cli.tasks.view import progress
from hai_client.durations import format_duration
from hai_client.quantity import format_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from hai_client.api import Client
    from hai_client.wire.metrics import HolderUse, TaskUse
    from hai_client.wire.schema import Cluster, GroupOverview

#: Lines of the screen that show no task, with one node group.
AROUND = 9
#: GPUs that are in use for less than this are red, %.
IDLE_BELOW = 5


def _of_use(name: str) -> Callable[[HolderUse], float]:
    def value(task: HolderUse) -> float:
        found = None if task.use is None else getattr(task.use, name)
        return -1.0 if found is None else float(found)

    return value


#: What tasks can be sorted by, the greatest first.
ORDERS: dict[str, Callable[[HolderUse], float]] = {
    "cores": _of_use("cpu"),
    "memory": _of_use("memory"),
    "gpu": _of_use("gpu_use"),
    "gpu-memory": _of_use("gpu_memory"),
    "watts": _of_use("gpu_power"),
    "nodes": lambda task: float(task.nodes),
    "newest": lambda task: float(task.task_id),
}


def answer(client: Client, *, mine: bool) -> dict[str, Any]:
    """Return what the screen shows, for a program."""
    return {"cluster": client.cluster(), "use": client.cluster_use(mine=mine)}


def write(out: Output, client: Client, *, mine: bool, order: str | None, rows: int | None) -> None:
    """Write the cluster and its tasks.

    Args:
        out: Where.
        client: The platform. It is asked twice, whatever the number of tasks.
        mine: Whether to show only the user's own tasks.
        order: A key of `ORDERS`; None: as the platform sends them.
        rows: Tasks at most; None: all.
    """
    _write_header(out, client.cluster())
    found = client.cluster_use(mine=mine)
    out.line()
    if not found.items:
        out.line("no task" + (" of yours" if mine else "") + " holds a node")
        return
    tasks = list(found.items) if order is None else sorted(found.items, key=ORDERS[order], reverse=True)
    shown = tasks if rows is None else tasks[:rows]
    out.table(_COLUMNS, [_row(task) for task in shown])
    more = len(tasks) - len(shown) + found.left_out
    if more:
        out.line(f"and {plural(more, 'task')} more" + ("" if mine else "; --mine shows yours alone"))


def _write_header(out: Output, cluster: Cluster) -> None:
    now = datetime.now(UTC).astimezone().strftime("%H:%M:%S")
    out.line(out.style(f"the cluster at {now}", "bold") + (": paused" if cluster.paused else ""))
    if cluster.standstill:
        out.line(out.style(cluster.standstill, "yellow"))
    for group in cluster.groups:
        out.line(f"  {group.group}: {', '.join(_facts(group))}")


def _facts(group: GroupOverview) -> Iterator[str]:
    """Yield what there is to say of a node group."""
    yield f"{plural(group.nodes, 'node')}: {group.held} busy"
    yield f"{group.free} idle"
    if group.unavailable:
        yield f"{group.unavailable} down"
    usable = group.held + group.free
    if usable:
        yield f"{100 * group.held / usable:.0f}% occupied"
    if group.gpus:
        yield f"{group.gpus_free} of {plural(group.gpus, 'GPU')} free"
    running = sum(level.running_tasks for level in group.levels)
    waiting = sum(level.waiting_tasks for level in group.levels)
    wanted = sum(level.waiting_nodes for level in group.levels)
    yield f"{plural(running, 'task')} on nodes"
    yield f"{waiting} waiting" + (f" for {plural(wanted, 'node')}" if waiting else "")


_COLUMNS = ">ID  USER  NAME  PRIORITY?  >NODES  >CORES  >MEMORY  >GPU  >GPU MEMORY?  >WATTS?  >TURN  NOW"


def _row(task: HolderUse) -> list[Cell | str]:
    nodes = str(task.nodes) if task.gpus is None else f"{task.nodes} x {plural(task.gpus, 'GPU')}"
    name = Cell(task.name or "-", "bold")
    use = _cells(task.use)
    return [str(task.task_id), task.user, name, task.priority or "-", nodes, *use, _turn(task), _now(task)]


def _cells(use: TaskUse | None) -> list[Cell | str]:
    if use is None:
        return ["-"] * 5
    gpu = use.gpu_use
    return [
        _shown(use.cpu, lambda value: f"{value:.1f}"),
        _shown(use.memory, in_bytes),
        "-" if gpu is None else Cell(f"{gpu:.0f}%", "red" if gpu < IDLE_BELOW else None),
        _shown(use.gpu_memory, in_bytes),
        _shown(use.gpu_power, lambda value: f"{value:.0f}"),
    ]


def _shown(value: float | None, form: Callable[[float], str]) -> str:
    return "-" if value is None else form(value)


def _turn(task: HolderUse) -> str:
    """Return how long no equal may have the nodes of a task."""
    if task.turn_left_s is None:
        return "-"
    return format_duration(task.turn_left_s) if task.turn_left_s else "may end"


def _now(task: HolderUse) -> Cell | str:
    if task.deadline is not None:
        left = (task.deadline - datetime.now(UTC)).total_seconds()
        return Cell(f"leaves within {format_duration(left)}", "yellow")
    if task.progress is not None:
        return progress(task.progress)
    return "" if task.state is None else Cell(task.state, STATE_STYLES.get(task.state))


def in_bytes(value: float) -> str:
    """Return a number of bytes with a unit."""
    return format_bytes(Decimal(round(value)))
