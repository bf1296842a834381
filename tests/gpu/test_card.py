"""Whether what HAI reads agrees with nvidia-smi."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu.card import MIB, compare, number, smi

SMI = {
    "memory.used": "8692",
    "utilization.gpu": "97",
    "power.draw": "350.50",
    "enforced.power.limit": "700.00",
    "clocks.sm": "1980",
    "ecc.errors.uncorrected.volatile.total": "0",
    "processes": "1",
}
HAI = {
    "use": 97.0,
    "memory": 8692.0 * MIB,
    "power": 350.5,
    "power_limit": 700.0,
    "clock": 1980.0,
    "errors": 0.0,
    "processes": 1.0,
}


def without(given: dict[str, float], name: str) -> dict[str, float]:
    return {one: value for one, value in given.items() if one != name}


@pytest.mark.parametrize(
    ("ours", "after", "wrong"),
    [
        (HAI, {}, None),
        # What the driver keeps for itself is not used.
        (HAI | {"memory": (8692 + 600) * MIB}, {}, "memory: HAI reads 9292, nvidia-smi 8692"),
        (HAI | {"power": 350500.0}, {}, "power: HAI reads 3.505e"),
        # The power grows meanwhile, and HAI has read between the two.
        (HAI | {"power": 500.0}, {"power.draw": "650.00"}, None),
        (HAI | {"power": 500.0}, {}, "power"),
        (HAI | {"use": 40.0}, {}, "use"),
        (HAI | {"errors": 1.0}, {}, "errors"),
        (HAI | {"processes": 0.0}, {}, "processes"),
        # What nvidia-smi does not know either is no fault ...
        (without(HAI, "errors"), {"ecc.errors.uncorrected.volatile.total": "[N/A]"}, None),
        # ... but what it knows has to be read.
        (without(HAI, "clock"), {}, "clock: nvidia-smi has it (1980), HAI has not read it"),
    ],
)
def test_what_is_read_must_lie_where_nvidia_smi_is(
    ours: dict[str, float], after: dict[str, str], wrong: str | None
) -> None:
    told, found = compare(SMI, ours, SMI | after)
    assert [one.startswith(wrong or "") for one in found] == ([] if wrong is None else [True])
    assert ("errors" in told) == ("errors" in ours)


def test_figures_are_told_with_those_of_nvidia_smi() -> None:
    assert compare(SMI, HAI, SMI)[0].startswith("use 97 (97), memory 8692 (8692), power 350.5 (350.5)")


@pytest.mark.parametrize(("text", "value"), [("12", 12.0), ("0.50", 0.5), ("[N/A]", None), ("[Not Supported]", None)])
def test_what_a_gpu_does_not_tell_is_no_number(text: str, value: float | None) -> None:
    assert number(text) == value


def an_smi(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_a_field_that_nvidia_smi_does_not_know_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = """echo 'Field "b.c" is not a valid field to query.'; exit 2"""
    an_smi(tmp_path, f"case $1 in *b.c*) {refusal};; --query-gpu=a,d) echo '1 , [N/A]';; esac", monkeypatch)
    assert smi("gpu", ("a", "b.c", "d")) == [{"a": "1", "b.c": "[N/A]", "d": "[N/A]"}]


def test_what_nvidia_smi_refuses_has_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    an_smi(tmp_path, "echo Driver/library version mismatch; exit 18", monkeypatch)
    with pytest.raises(AssertionError, match="ends with 18: Driver/library version mismatch"):
        smi("gpu", ("a",))
