"""What counts as a checkpoint: the one rule, as a table and as properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.rank.evidence.judging import (
    AT_LEAST,
    RECORD,
    TORN,
    FileFacts,
    is_draft,
    is_text,
    may_be_text,
    over_time,
    why_not,
)

PLACE = "/data/out"


def facts(path: str, **more: object) -> FileFacts:
    given_: dict[str, object] = {"place": PLACE if path.startswith(PLACE) else None, "size": 1000, **more}
    return FileFacts(path, **given_)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/data/out/model.pt", {}),
        ("/data/out/model.pt", {"text": True, "grows": True}),
        ("/data/out/checkpoint-20/trainer_state.json", {"text": True}),
        ("/data/out/state.json", {"text": True}),
        ("/data/out/model", {}),
        ("/data/out/model", {"grows": True}),
        ("/data/out/step=20/__0_0.distcp", {}),
        ("/data/out/model.pt", {"before": 1000}),
        ("/data/out/model.pt", {"before": 1100}),
        ("/data/out/state.json", {"size": 9, "before": 10, "text": True}),
        ("/data/out/model.pt", {"before": 3000, "moved": True}),
        ("/data/out/params", {}),
        ("/data/out/loss.dat", {}),
        ("/data/out/state.yaml", {"text": True}),
        ("/data/out/checkpoint-20.csv", {"text": True}),
        ("/data/out/exp_new/model.pt", {}),
        ("/data/out/temp-0.7/model.pt", {}),
        ("/data/out/lr_temp_1/model.pt", {}),
        ("/data/out/study.db", {}),
        ("/data/results.csv", {"place": "/data/results.csv", "text": True, "grows": True}),
        ("/data/log.txt", {"place": "/data/log.txt", "text": True}),
        ("/data/state.tmp", {"place": "/data/state.tmp"}),
        ("/elsewhere/ckpt.pt", {}),
        ("/tmp/run/ckpt.pt", {}),
    ],
)  # fmt: skip
def test_a_checkpoint(path: str, more: dict[str, object]) -> None:
    assert why_not(facts(path, **more)) is None


@pytest.mark.parametrize(
    ("path", "more", "why"),
    [
        ("/data/out/model.pt.tmp", {}, "draft"),
        ("/data/out/model.pt.tmp.4711", {}, "draft"),
        ("/data/out/.tmp-model.pt", {}, "draft"),
        ("/data/out/tmpx3k_a9qz", {}, "draft"),
        ("/data/out/ck.tmp", {}, "draft"),
        ("/data/out/tmp-checkpoint-20/model.safetensors", {}, "draft"),
        ("/data/out/20.orbax-checkpoint-tmp-17/state", {}, "draft"),
        ("/data/out/model.pt", {"size": 0}, "is empty"),
        ("/data/out/model.pt", {"torn": True}, TORN),
        ("/data/out/model.pt", {"before": 3000}, "1,000 bytes"),
        ("/data/out/log.txt", {"text": True}, RECORD),
        ("/data/out/train_log.txt", {"text": True}, RECORD),
        ("/data/out/epochs.txt", {"text": True, "grows": True}, RECORD),
        ("/data/out/version_0/hparams.yaml", {"text": True}, RECORD),
        ("/data/out/config.json", {"text": True}, RECORD),
        ("/data/out/params", {"text": True}, RECORD),
        ("/data/out/restart.log", {"text": True}, RECORD),
        ("/data/out/study.db-wal", {}, RECORD),
        ("/data/out/model.pt.new", {}, "draft"),
        ("/data/out/temp-checkpoint-20/model.pt", {}, "draft"),
        ("/data/out/metrics.json", {"text": True}, RECORD),
        ("/data/out/opt.toml", {"text": True}, RECORD),
        ("/data/out/train.log", {}, RECORD),
        ("/data/out/events.out.tfevents.17.host", {}, RECORD),
        ("/elsewhere/model", {}, "no place"),
        ("/elsewhere/state.json", {"text": True}, "no place"),
    ],
)  # fmt: skip
def test_no_checkpoint_and_why(path: str, more: dict[str, object], why: str) -> None:
    assert why in (why_not(facts(path, **more)) or "")


names = st.from_regex(r"[a-z_]{1,8}[0-9]{0,3}(\.(pt|ckpt|json|txt|bin|yaml|tmp))?", fullmatch=True)


@given(
    st.builds(lambda folder, name: f"{PLACE}/{folder}/{name}", names, names),
    st.integers(0, 10**9),
    st.none() | st.integers(1, 10**9),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_an_unfinished_empty_temporary_or_shrunken_file_is_none(
    path: str, size: int, before: int | None, torn: bool, text: bool, grows: bool
) -> None:
    why = why_not(facts(path, size=size, before=before, torn=torn, text=text, grows=grows))
    shrunken = before is not None and size <= before // 2 and before - size > AT_LEAST
    if torn or size == 0 or shrunken or any(is_draft(part) for part in path.split("/")[3:]):
        assert why is not None
    elif path.endswith((".pt", ".ckpt", ".bin")) and (before is None or size >= before):
        assert why is None


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_file_that_is_no_shorter_is_never_called_shrunken(before: int, more: int) -> None:
    assert why_not(facts("/data/out/model.pt", size=before + more, before=before)) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("checkpoint-20/model.pt", "checkpoint-40/model.pt", True),
        ("model-20.pt", "model-40.pt", True),
        ("ckpt-20/model-00001-of-00003.safetensors", "ckpt-40/model-00001-of-00003.safetensors", True),
        ("ckpt-20/model-00001-of-00003.safetensors", "ckpt-20/model-00003-of-00003.safetensors", False),
        ("ckpt/rank0.pt", "ckpt/rank1.pt", False),
        ("step-2/layer_00-model.pt", "step-2/layer_11-model.pt", False),
        ("step-2/__0_0.distcp", "step-2/__1_0.distcp", False),
        ("step-2/__0_0.distcp", "step-4/__0_0.distcp", True),
    ],
)
def test_sizes_are_compared_over_time_and_not_between_the_parts_of_one_checkpoint(
    one: str, other: str, *, same: bool
) -> None:
    assert (over_time(one) == over_time(other)) is same


def test_what_is_text() -> None:
    assert is_text(b'{"epoch": 1}\n')
    assert is_text("ζ\n".encode())
    assert not is_text(b"PK\x03\x04\x00\x00")
    assert may_be_text("log.txt")
    assert may_be_text("model")
    assert not may_be_text("model.pt")
