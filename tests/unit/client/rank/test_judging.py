"""What counts as a checkpoint: the one rule, as a table and as properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.rank.judging import AT_LEAST, RECORD, TORN, FileFacts, is_draft, is_text, may_be_text, why_not

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


def test_what_is_text() -> None:
    assert is_text(b'{"epoch": 1}\n')
    assert is_text("ζ\n".encode())
    assert not is_text(b"PK\x03\x04\x00\x00")
    assert may_be_text("log.txt")
    assert may_be_text("model")
    assert not may_be_text("model.pt")
