"""What must hold of every case, whatever the framework."""

from __future__ import annotations

import re

from frameworks.cases import ENDED, SAVED, UNKNOWN, Case
from frameworks.drive import Outcome

#: Each step adds this to the only weight: sums of it are exact.
A_STEP = 1 / 1024
#: What must not be said of a task without evidence of a save.
CLAIM = re.compile(r"(?<!without )(?:with its work saved|suspended clean|having saved)|[;,] saved\b")


def check_resumes(case: Case, seen: Outcome) -> None:
    """Check that the case was interrupted once, went on at the saved step, and came to the right end."""
    assert len(seen.runs) == 2, seen.log()
    first = seen.runs[0]
    assert first["reason"] == "preempted", first
    assert all(rank["notified_at"] for rank in first["ranks"]), "every rank was told"
    assert [number for number, _ in seen.numbers(r"world of (\d+)", 1)] in ([], [case.world]), seen.log()
    assert seen.numbers(r"world of (\d+)", 1)[:1] or case.world == 1, "it says how many train together"
    saved = [step for step, _ in seen.saved(1)]
    assert bool(saved) is not case.from_start, seen.log()
    at = saved[-1] if saved else 0
    resumed = [int(number) for number, _ in seen.numbers(r"resumed at step (\d+)", 2)]
    # A stage that had not begun has printed nothing of that.
    between = case.stage_steps > 0 and at % case.stage_steps == 0
    assert resumed == ([at] if saved and not between else []), seen.log()
    assert seen.steps(1) == list(range(1, seen.steps(1)[-1] + 1)), seen.log()
    assert seen.steps(2) == list(range(at + 1, case.steps + 1)), seen.log()
    finished = [line.text for line in seen.lines if line.run == 2 and line.text.startswith("finished")]
    assert finished == [f"finished step {case.steps} weight {case.steps * A_STEP}"], seen.log()
    if case.stage_steps:
        # The interpreter of a stage may have started before the platform saw it. It is ended before it does a step.
        late = [int(number) for number, at in seen.numbers(r"stage (\d+) begins", 1) if at > seen.told_at]
        done = [number for number in late if seen.steps(1)[-1] > (number - 1) * case.stage_steps]
        assert done == [], f"no stage that begins after the notice does a step\n{seen.log()}"


def check_word(case: Case, seen: Outcome) -> None:
    """Check that HAI says the same about the save everywhere, and that it agrees with the files on the disk."""
    assert seen.left in case.left, f"it is said to be {seen.left}\n{seen.log()}"
    after = seen.newest is not None and seen.newest >= seen.told_at
    assert after is (seen.left == SAVED), (
        f"said to be {seen.left}; its newest file is of {seen.newest}, the notice of {seen.told_at}\n{seen.log()}"
    )
    # Not every changed file is a checkpoint: where the job's lines have times, they must tell of the save too.
    assert seen.left != SAVED or seen.job_s > 0 or case.own_log, f"it saved nothing after the notice\n{seen.log()}"
    assert seen.left in (SAVED, UNKNOWN, ENDED)
    if seen.left != SAVED:
        said = [line.text for line in seen.lines if line.platform and line.run == 1]
        claims = [text for text in [*said, *seen.decisions.splitlines()] if CLAIM.search(text)]
        assert claims == [], "nobody says that it saved"
    lost = seen.runs[0]["lost_s"]
    if lost is None:
        assert (seen.left, seen.newest) == (UNKNOWN, None), "where a checkpoint was seen it is known what is lost"
    else:
        assert lost == 0.0 if seen.left == SAVED else lost > 0.0, f"{lost} node seconds are said to be lost"
