"""Every case on the real platform. What the platform still lacks is an expected failure that names it, and it fails
when it begins to pass: then the case's `missing` goes.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from frameworks.cases import CASES, RESUMES, WORD, Case
from frameworks.checks import check_resumes, check_word
from frameworks.drive import Broken, Outcome

pytestmark = pytest.mark.frameworks
CHECKS = {RESUMES: check_resumes, WORD: check_word}


def pairs() -> list[object]:
    """Each case with each check."""
    return [
        pytest.param(
            case,
            check,
            id=f"{case.name}-{check}",
            marks=[pytest.mark.xfail(strict=True, raises=(Broken, AssertionError), reason=case.missing[check])]
            if check in case.missing
            else [],
        )
        for case in CASES
        for check in CHECKS
    ]


@pytest.mark.parametrize(("case", "check"), pairs())
def test_a_case(case: Case, check: str, seen: Callable[[Case], Outcome], passed: Callable[[Case, str], None]) -> None:
    CHECKS[check](case, seen(case))
    passed(case, check)
