"""Made-up traces keep to what they promise."""

from __future__ import annotations

from statistics import fmean, median

import pytest

from hai_scheduler.sim.formats.native import lines_of
from hai_scheduler.sim.generate import LONGEST_S, SHORTEST_S, Mix, generate


def gpus_of(job) -> int:
    return job.gpus or 8 * job.nodes


def test_the_load_is_the_one_that_was_asked_for() -> None:
    jobs = generate(Mix(tasks=500, load=0.8, nodes=16, seed=3))
    work = sum(job.work.total_seconds() * gpus_of(job) / 8 for job in jobs)
    span = (jobs[-1].submitted_at - jobs[0].submitted_at).total_seconds()
    assert work / (16 * span) == pytest.approx(0.8, rel=1e-3)


def test_the_same_seed_makes_the_same_file_byte_for_byte() -> None:
    files = ["\n".join(lines_of(generate(Mix(tasks=50, load=1, nodes=4, seed=seed)), about="x")) for seed in (1, 1, 2)]
    assert files[0] == files[1] != files[2]


def test_sizes_and_lengths_are_like_those_of_production_traces() -> None:
    jobs = generate(Mix(tasks=4000, load=0.9, nodes=64))
    lengths = [job.work.total_seconds() for job in jobs]
    assert 3.7 <= fmean(gpus_of(job) for job in jobs) <= 5.7
    assert 200 <= median(lengths) <= 500
    assert fmean(lengths) > 5 * median(lengths), "heavy-tailed"
    assert min(lengths) >= SHORTEST_S
    assert max(lengths) <= LONGEST_S


def test_days_are_busier_than_nights() -> None:
    jobs = generate(Mix(tasks=4000, load=0.2, nodes=16))
    hours = [job.submitted_at.hour for job in jobs]
    by_day, by_night = (sum(low <= hour < low + 6 for hour in hours) for low in (12, 0))
    assert by_day > 1.8 * by_night


def test_jobs_fit_the_cluster_and_its_limits() -> None:
    jobs = generate(Mix(tasks=300, load=0.9, nodes=2))
    assert max(job.nodes for job in jobs) == 1
    assert all(job.time_limit is not None and job.work < job.time_limit for job in jobs)
    assert [job.submitted_at for job in jobs] == sorted(job.submitted_at for job in jobs)


def test_a_mix_that_cannot_be_is_refused() -> None:
    for mix in (Mix(tasks=1, load=1, nodes=1), Mix(tasks=2, load=0, nodes=1), Mix(tasks=2, load=1, nodes=0)):
        with pytest.raises(ValueError, match="two tasks or more"):
            generate(mix)
