"""A chunk that an earlier version has written says the same in the form of now."""

from __future__ import annotations

import base64

import pytest

from hai_scheduler.core.metrics.packing import unpack
from hai_scheduler.core.metrics.series import Point, Spread
from hai_scheduler.store.former_chunks import FORMER, rewritten

#: As that version has packed `POINTS`: with leaps, gaps, a number of the job's own, and times that are not in step.
CHUNK = base64.b64decode(
    "A3jaLY7hCsMgDITfJb+zoVa7tq8iUropo+uqUiljFN990Q4CF/jucjkgxcknGLTmDGmkQdr+q0FI0+pgOGB1a9i+5BM3KZAhMxlhmb2tWQ2PuANF"
    "u1bUA6iwaShPxM5pGTc32cK5YMWgsEPJTv6MOxv35CrmfVdxi70p9eHjS/sr3Md3SOefZLjwq1CnFhHG5PwDGuk6amNwM9JQkJIQAQD7/x8CALNh"
    "SGBQZvBikGSwZRBhMGYQYNBh4GVQZ+ABinIxKDAAAGP4DwEA+/+f4T8IAACbwLjvZxLnBEYI3Miyg9uRTYMrkZOD/SNXBWsjzwtmQb4IpoX8JxgA"
    "Y2CAAAD7b/QfDAFby8LCsBYJAwA="
)


def a_point(number: int) -> Point:
    values = {
        "cpu": Spread(number, number + 1, number + 5),
        "memory": Spread(5e9, 5e9, 5e9),
        "gpu0_use": Spread(0 if number % 2 else 90, 95, 100),
    }
    if number != 3:
        values["disk_read"] = Spread(0, 10.0 ** (2 * number), 1e17)
    if number == 2:
        values["job_loss"] = Spread(-1.5, -1.25, 2)
    return Point(10 * number + (number > 4) * 50, values)


POINTS = [a_point(number) for number in range(1, 9)]


def test_a_chunk_of_the_former_form_keeps_its_points() -> None:
    assert CHUNK[:1] == FORMER
    back = unpack(rewritten(CHUNK))
    assert [(point.at, set(point.values)) for point in back] == [(point.at, set(point.values)) for point in POINTS]
    for before, after in zip(POINTS, back, strict=True):
        for name, spread in after.values.items():
            assert spread == pytest.approx(before.values[name], rel=0.012)
