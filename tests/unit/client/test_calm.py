"""A log that noise cannot fill."""

from __future__ import annotations

import io
import logging

import pytest

from hai_client.calm import MOST, Calm, Masking, calm, logging_config


def record(line: int, text: str = "line %d", *words: object) -> logging.LogRecord:
    return logging.LogRecord("x", logging.INFO, "file.py", line, text, words, None)


def test_a_place_writes_some_lines_and_then_says_how_many_were_left_out() -> None:
    now = [0.0]
    calm = Calm(most=2, period_s=10, clock=lambda: now[0])
    assert [calm.filter(record(1, "line %d", number)) for number in range(5)] == [True, True, False, False, False]
    now[0] = 10.0
    again = record(1, "line %d", 5)
    assert calm.filter(again)
    assert again.getMessage() == "line 5 (3 more such lines were left out before this one)"
    after = record(1, "line %d", 6)
    assert calm.filter(after)
    assert after.getMessage() == "line 6"


def test_noise_of_one_place_leaves_the_others_their_lines() -> None:
    calm = Calm(most=1, clock=lambda: 0.0)
    assert calm.filter(record(1))
    assert not calm.filter(record(1))
    assert calm.filter(record(2))
    failure = record(1)
    failure.levelno = logging.ERROR
    assert calm.filter(failure)


def test_a_logger_is_calmed_once_however_often_it_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    name = "test.calm"
    calm(name)
    calm(name)
    with caplog.at_level(logging.INFO, name):
        for number in range(3 * MOST):
            logging.getLogger(name).info("noise %d", number)
    assert len(caplog.records) == MOST
    assert len(logging.getLogger(name).filters) == 1


def test_a_handler_that_masks_shows_no_secret_of_a_message_or_of_a_traceback() -> None:
    shown = io.StringIO()
    handler = logging.StreamHandler(shown)
    handler.addFilter(Masking())
    logger = logging.Logger("x")
    logger.addHandler(handler)
    address = "postgresql://hai:S3CR3T@db/hai"
    logger.warning("no answer of %s", address)
    logger.warning("100 %", extra={"of": address})
    try:
        raise OSError(f"cannot reach {address}")
    except OSError:
        logger.exception("it failed")
    assert "S3CR3T" not in shown.getvalue()
    assert "no answer of postgresql://***@db/hai" in shown.getvalue()
    assert "OSError: cannot reach postgresql://***@db/hai" in shown.getvalue()


def test_the_hub_masks_its_log() -> None:
    config = logging_config()
    assert config["handlers"] == {"console": {"filters": ["calm", "masking"]}}
