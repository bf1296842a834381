"""Actions that the audit keeps."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind


@pytest.mark.parametrize("action", AdminAction)
def test_an_action_has_a_subject_and_a_verb_and_fits_the_column(action: AdminAction) -> None:
    subject, _, verb = action.value.partition(".")
    assert subject.isidentifier()
    assert all(part.isidentifier() for part in verb.split("."))
    assert len(action.value) <= 32


@pytest.mark.parametrize("kind", [kind for kind in EventKind if kind.name in AdminAction.__members__])
def test_an_action_that_the_feed_tells_has_the_same_word_there(kind: EventKind) -> None:
    assert AdminAction[kind.name].value == kind.value
