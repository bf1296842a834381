"""Every reason has a sentence."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.reasons import Reason, sentence_of


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_sentence(reason: Reason) -> None:
    assert sentence_of(reason)[0].islower()
    assert not sentence_of(reason).endswith(".")
