"""The phases of training steps, found in the events of a trace.

On processors a moment belongs to what the main thread does: the thread that calls the optimizer. On GPUs it belongs to
the kernels that run, and a kernel to the phase in which it was launched. Communication counts where nothing is computed
at the same moment: the part that the step really waits for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hai_scheduler.core.profiling.spans import LabelledSpan, Ruler, covered, laid_over, lengths, with_gaps
from hai_scheduler.core.profiling.trace_reading import ANNOTATION, CPU_OP, KERNEL, RUNTIME, TraceEvent

DATA, FORWARD, BACKWARD, OPTIMIZER = "data", "forward", "backward", "optimizer"
COMMUNICATION, IDLE = "communication", "idle"
PHASES: Final = (DATA, FORWARD, BACKWARD, OPTIMIZER, COMMUNICATION, IDLE)

_STEP: Final = "Optimizer.step#"
_OPTIMIZER: Final = (_STEP, "Optimizer.zero_grad#")
_DATA: Final = "enumerate(DataLoader)#"
_BACKWARD: Final = "autograd::engine::evaluate_function"
_TALK: Final = ("gloo:", "nccl:", "mpi:", "ucc:", "c10d::", "record_param_comms")
#: Python between two operators of one phase, and between two phases, microseconds: it belongs to them.
_BRIDGE: Final = 2000.0
_SHORT: Final = 500.0
#: From this part of the time on in which kernels run, the GPU says where the time goes.
_GPU_COUNTS: Final = 0.02


@dataclass(frozen=True, slots=True)
class Phases:
    """Where the time of a process goes."""

    #: The part of the trace that was looked at, microseconds: whole steps, or all of it.
    window: tuple[float, float]
    #: Whole steps in it; 0: none were seen.
    steps: int
    #: Microseconds of each phase in the window; together they are the window.
    lengths: dict[str, float]
    #: The part of the window in which kernels ran; None: there are none.
    gpu_busy: float | None

    @property
    def on_gpu(self) -> bool:
        """Whether the phases are those of the GPU."""
        return self.gpu_busy is not None and self.gpu_busy >= _GPU_COUNTS


def find_phases(events: Sequence[TraceEvent]) -> Phases | None:
    """Find the phases; None if nothing happens in the trace."""
    host = [event for event in events if event.kind in (CPU_OP, ANNOTATION)]
    if not host:
        return None
    main = _main_thread(host)
    window, steps = _window(host, main)
    if window[1] <= window[0]:
        return None
    kernels = [event for event in events if event.kind == KERNEL and event.end > window[0] and event.start < window[1]]
    busy = covered(((one.start, one.end) for one in kernels), window) / (window[1] - window[0]) if kernels else None
    phases = Phases(window, steps, {}, busy)
    if phases.on_gpu:
        # Kernels run later than they are launched: those at the beginning were launched before.
        whole = min(event.start for event in host), max(event.end for event in host)
        spans = _of_gpu(kernels, events, _of_host(host, main, whole), window)
    else:
        spans = _of_host(host, main, window)
    found = lengths(spans)
    return Phases(window, steps, {name: found.get(name, 0.0) for name in PHASES}, busy)


def _main_thread(host: Sequence[TraceEvent]) -> str:
    """The thread that calls the optimizer; without one, the one with the most operators outside of backward."""
    for wanted in (_STEP, _DATA, ""):
        threads = Counter(
            event.thread
            for event in host
            if event.name.startswith(wanted) and not event.name.startswith((_BACKWARD, *_TALK))
        )
        if threads:
            return threads.most_common(1)[0][0]
    return host[0].thread


def _window(host: Sequence[TraceEvent], main: str) -> tuple[tuple[float, float], int]:
    """Return the time from the end of the first step of the optimizer to the end of the last, and the steps in it."""
    ends: dict[str, list[float]] = {}
    for event in host:
        if event.thread == main and event.name.startswith(_STEP):
            ends.setdefault(event.name, []).append(event.end)
    # With several optimizers, as of GANs, one of them counts the steps.
    chosen = max(sorted(ends.items()), key=lambda pair: len(pair[1]), default=("", []))[1]
    if len(chosen) > 1:
        return (min(chosen), max(chosen)), len(chosen) - 1
    return (min(event.start for event in host), max(event.end for event in host)), 0


def _of_host(host: Sequence[TraceEvent], main: str, window: tuple[float, float]) -> list[LabelledSpan]:
    own = [event for event in host if event.thread == main]
    talk = [(event.start, event.end) for event in host if event.name.startswith(_TALK)]
    backward = [(event.start, event.end) for event in host if event.name.startswith(_BACKWARD)]
    layers = [
        (OPTIMIZER, [(event.start, event.end) for event in own if event.name.startswith(_OPTIMIZER)]),
        (DATA, [(event.start, event.end) for event in own if event.name.startswith(_DATA)]),
        # The main thread hands work to others here, or waits for them: it computes nothing meanwhile.
        (COMMUNICATION, [(event.start, event.end) for event in own if event.name.startswith(_TALK)]),
        (BACKWARD, backward),
        (FORWARD, [(event.start, event.end) for event in own if event.kind == CPU_OP]),
        (COMMUNICATION, talk),
    ]
    bridging = {FORWARD: _BRIDGE, BACKWARD: _BRIDGE, OPTIMIZER: _BRIDGE}
    return with_gaps(laid_over(layers, window), window, short=_SHORT, idle=IDLE, bridging=bridging)


def _of_gpu(
    kernels: Sequence[TraceEvent],
    events: Sequence[TraceEvent],
    host: Sequence[LabelledSpan],
    window: tuple[float, float],
) -> list[LabelledSpan]:
    launched = {event.correlation: event.start for event in events if event.kind == RUNTIME and event.correlation}
    ruler = Ruler(host)
    by_phase: dict[str, list[tuple[float, float]]] = {}
    for kernel in kernels:
        if "nccl" in kernel.name.lower():
            label = COMMUNICATION
        else:
            at = None if kernel.correlation is None else launched.get(kernel.correlation)
            label = (None if at is None else ruler.label_at(at)) or FORWARD
            if label in (IDLE, COMMUNICATION):
                label = FORWARD
        by_phase.setdefault(label, []).append((kernel.start, kernel.end))
    computing = [(name, by_phase.get(name, [])) for name in (OPTIMIZER, BACKWARD, FORWARD, DATA)]
    waits = [(span.start, span.end) for span in host if span.label == DATA]
    layers = [*computing, (COMMUNICATION, by_phase.get(COMMUNICATION, [])), (DATA, waits)]
    return with_gaps(laid_over(layers, window), window, short=0.0, idle=IDLE, bridging={})
