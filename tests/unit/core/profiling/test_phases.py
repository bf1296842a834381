"""The phases of steps, found in traces whose phases are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.profiling.phases import PHASES, find_phases
from hai_scheduler.core.profiling.trace_reading import TraceEvent, read_trace
from kit.traces import event, packed, steps


def found_in(events: list[dict[str, object]]):
    phases = find_phases(read_trace(packed(events)).events)
    assert phases is not None
    return phases


@given(
    st.integers(2, 6),
    st.floats(200, 50_000),
    st.floats(600, 50_000),
    st.floats(300, 50_000),
    st.sampled_from([0.0, 700.0, 9000.0]),
)
def test_each_phase_is_as_long_as_it_was_made(
    count: int, data: float, wait: float, forward: float, talk: float
) -> None:
    phases = found_in(steps(count, data=data, wait=wait, forward=forward, talk=talk))
    parts = {name: length / (count - 1) for name, length in phases.lengths.items()}
    assert phases.steps == count - 1
    assert parts == pytest.approx(
        {
            "data": data,
            "forward": forward,
            "backward": 4000,
            "optimizer": 1000,
            "communication": talk,
            "idle": wait,
        },
        abs=1.0,
    )


def test_communication_behind_computing_costs_nothing() -> None:
    hidden = [event("gloo:all_reduce", 4000, 3000, cat="user_annotation", tid=7)]
    assert found_in([*steps(3), *hidden]).lengths["communication"] == 0


def test_without_steps_the_whole_trace_is_shown() -> None:
    phases = found_in([event("aten::mm", 100, 50), event("aten::add", 5000, 50)])
    assert (phases.steps, phases.window) == (0, (100, 5050))
    assert phases.lengths["forward"] == 100
    assert phases.lengths["idle"] == 4850


def test_with_two_optimizers_one_counts_the_steps() -> None:
    more = [event("Optimizer.step#Adam.step", 9000 * number + 2, 3, cat="user_annotation") for number in range(2)]
    assert found_in([*steps(5), *more]).steps == 4


def test_a_trace_of_nothing_has_no_phases() -> None:
    assert find_phases([]) is None
    assert find_phases([TraceEvent("kernel", "k", "1", 0, 5)]) is None
    assert find_phases([TraceEvent("cpu_op", "op", "1", 5, 5)]) is None


def on_gpu(count: int, *, busy: bool = True) -> list[dict[str, object]]:
    """Steps of which the GPU computes each part 2 ms after it was launched, and reduces gradients for 3 ms."""
    events = []
    for number in range(count):
        at = number * 20_000.0
        events += [
            event("enumerate(DataLoader)#x", at, 1000, cat="user_annotation"),
            event("aten::linear", at + 1000, 500),
            event("cudaLaunchKernel", at + 1100, 10, cat="cuda_runtime", correlation=4 * number + 1),
            event("autograd::engine::evaluate_function: A", at + 1500, 500, tid=2),
            event("cudaLaunchKernel", at + 1600, 10, cat="cuda_runtime", tid=2, correlation=4 * number + 2),
            event("Optimizer.step#Adam.step", at + 2000, 500, cat="user_annotation"),
            event("aten::add_", at + 2010, 400),
            event("cudaLaunchKernel", at + 2100, 10, cat="cuda_runtime", correlation=4 * number + 3),
        ]
        if busy:
            events += [
                event("sgemm", at + 3000, 4000, cat="kernel", tid="s7", correlation=4 * number + 1),
                event("sgemm_back", at + 7000, 6000, cat="kernel", tid="s7", correlation=4 * number + 2),
                event("ncclDevKernel_AllReduce", at + 12_000, 3000, cat="kernel", tid="s9"),
                event("adam", at + 15_000, 2000, cat="kernel", tid="s7", correlation=4 * number + 3),
            ]
    return events


def test_on_gpus_kernels_count_by_who_launched_them() -> None:
    phases = found_in(on_gpu(4))
    parts = {name: length / phases.steps for name, length in phases.lengths.items()}
    assert phases.on_gpu
    assert phases.gpu_busy == pytest.approx(0.7)
    assert parts == pytest.approx(
        {"forward": 4000, "backward": 6000, "optimizer": 2000, "communication": 2000, "data": 1000, "idle": 5000}
    )


def test_a_gpu_that_does_nothing_does_not_say_where_time_goes() -> None:
    phases = found_in(on_gpu(4, busy=False))
    assert (phases.on_gpu, phases.gpu_busy) == (False, None)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["cpu_op", "user_annotation", "cuda_runtime", "kernel"]),
            st.sampled_from(
                ["Optimizer.step#A", "aten::mm", "gloo:x", "nccl", "autograd::engine::evaluate_function: B"]
            ),
            st.sampled_from(["1", "2"]),
            st.floats(0, 1e7),
            st.floats(0, 1e7),
            st.one_of(st.none(), st.integers(0, 3)),
        ),
        max_size=30,
    )
)
def test_whatever_comes_the_phases_are_the_window(rows) -> None:
    phases = find_phases([TraceEvent(a, b, c, at, at + length, joint) for a, b, c, at, length, joint in rows])
    if phases is not None:
        assert set(phases.lengths) == set(PHASES)
        assert min(phases.lengths.values()) >= 0
        assert sum(phases.lengths.values()) == pytest.approx(phases.window[1] - phases.window[0], rel=1e-6, abs=1e-3)
