"""Samples in windows, and the lines that are made of them."""

from __future__ import annotations

from hai_client.metrics.sampler import Sampler


class Scripted:
    """Says what the script has for each second."""

    def __init__(self, samples: dict[int, dict[str, float]]) -> None:
        self.samples = samples

    def read(self, now: float) -> dict[str, float]:
        return self.samples.get(int(now), {})


def lines_of(samples: dict[int, dict[str, float]], seconds: int, *, clock: list[float] | None = None) -> list[object]:
    lines: list[object] = []
    now = [0.0]
    times = clock or [1700000000.0 + second for second in range(seconds)]
    sampler = Sampler([Scripted(samples)], lambda line, _: lines.append(line), lambda: times[int(now[0])])
    for second in range(seconds):
        now[0] = float(second)
        sampler.step(now[0])
        sampler.step(now[0] + 0.1)
    sampler.finish()
    return lines


def test_a_line_has_the_least_the_mean_and_the_greatest_of_ten_seconds() -> None:
    samples = {second: {"cpu": float(second)} for second in range(25)}
    assert lines_of(samples, 25) == [
        {"at": 1700000010, "values": {"cpu": [0, 4.5, 9]}},
        {"at": 1700000020, "values": {"cpu": [10, 14.5, 19]}},
        {"at": 1700000030, "values": {"cpu": [20, 22, 24]}},
    ]


def test_a_metric_that_was_missing_for_seconds_counts_for_the_others() -> None:
    assert lines_of({3: {"gpu0_use": 50}, 4: {"gpu0_use": 70}}, 10) == [
        {"at": 1700000010, "values": {"gpu0_use": [50, 60, 70]}}
    ]


def test_seconds_without_any_figure_make_no_line() -> None:
    assert lines_of({}, 30) == []
    assert len(lines_of({5: {"cpu": 1}, 25: {"cpu": 1}}, 30)) == 2


def test_a_clock_that_is_set_back_writes_no_window_twice() -> None:
    clock = [1700000000.0 + second - (100 if second >= 15 else 0) for second in range(40)]
    lines = lines_of({second: {"cpu": 1} for second in range(40)}, 40, clock=clock)
    ends = [line["at"] for line in lines if isinstance(line, dict)]
    assert ends == sorted(ends)


def test_a_window_knows_for_how_long_it_was_sampled() -> None:
    lasted: list[float] = []
    now = [1700000007.0]
    always = Scripted({second: {"cpu": 1} for second in range(10)})
    sampler = Sampler([always], lambda _, seconds: lasted.append(seconds), lambda: now[0])
    for second in range(10):
        sampler.step(float(second))
        now[0] += 1
    sampler.finish()
    assert lasted == [3.0, 7.0]
