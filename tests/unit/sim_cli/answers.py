"""What a verb has printed."""

from __future__ import annotations

import json

import pytest


def answer(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out)
