"""What speaks against running an environment on a machine: only what is known of both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.workspace.abi import FoundMachine, Machine, Needs, found_now, key_of, misfit
from kit.builders import T0, at

NODES = Machine(machine="x86_64", glibc="2.31", driver="525.85.12")


@pytest.mark.parametrize(
    "needs",
    [
        Needs(),
        Needs(machine="x86_64", glibc="2.31", cuda="12.8"),
        Needs(machine="x86_64", glibc="2.9", cuda="11.8"),
        Needs(cuda="99.1"),
        Needs(cuda="unknown", glibc="musl"),
    ],
    ids=str,
)
def test_what_fits_or_is_not_known_is_let_through(needs: Needs) -> None:
    assert misfit(needs, NODES) is None


@pytest.mark.parametrize(
    ("needs", "says"),
    [
        (Needs(machine="aarch64"), "is for aarch64, and the nodes are for x86_64: build it on a machine of that kind"),
        (Needs(glibc="2.34"), "needs glibc 2.34, and the nodes have 2.31: build it where glibc is as old"),
        (Needs(cuda="13.0"), "CUDA 13.0, which needs NVIDIA's driver 580 or newer, and the nodes have 525.85.12"),
    ],
)
def test_what_does_not_fit_is_named_with_both_values_and_the_remedy(needs: Needs, says: str) -> None:
    found = misfit(needs, NODES)
    assert found is not None
    assert says in found


def test_nothing_is_said_of_a_machine_of_which_nothing_is_known() -> None:
    assert misfit(Needs(machine="aarch64", glibc="9.9", cuda="13.0"), Machine()) is None


IMAGE = Machine(machine="x86_64", glibc="2.28", name="the image torch")


@pytest.mark.parametrize(
    ("needs", "says"),
    [
        (Needs(machine="aarch64"), "is for aarch64, and the image torch is for x86_64: build it"),
        (Needs(glibc="2.34"), "needs glibc 2.34, and the image torch has 2.28: build it where glibc is as old"),
    ],
)
def test_an_image_is_named_as_what_has_it(needs: Needs, says: str) -> None:
    assert says in (misfit(needs, IMAGE) or "")


@pytest.mark.parametrize(
    ("nodes", "known"),
    [
        (Machine(), IMAGE),
        (Machine(driver="535.1"), Machine(machine="x86_64", glibc="2.28", driver="535.1", name="the image torch")),
        # Where ranks run on the machine itself, the image of a row is not used.
        (NODES, NODES),
        (Machine(glibc="2.31"), Machine(glibc="2.31")),
    ],
    ids=str,
)
def test_an_image_counts_where_nothing_is_known_of_the_nodes(nodes: Machine, known: Machine) -> None:
    assert nodes.known_with(IMAGE) == known


# --- what tasks find in images

DIGEST = f"sha256:{'a' * 64}"


def found(image: str, glibc: str, task: int = 1) -> FoundMachine:
    return FoundMachine(image=image, machine="x86_64", glibc=glibc, task=TaskId(task), at=T0)


@pytest.mark.parametrize(
    ("image", "key"),
    [
        ("quay.io:5000/ml/torch:2", "quay.io:5000/ml/torch:2"),
        (f"torch:2@{DIGEST}", DIGEST),
        (f"torch@{DIGEST}", DIGEST),
    ],
)
def test_an_image_is_known_by_its_digest_if_it_has_one(image: str, key: str) -> None:
    assert key_of(image) == key


def test_the_first_word_on_a_digest_stays_and_the_last_on_a_tag_counts() -> None:
    first, second = found("torch:2", "2.31"), found("torch:2", "2.36", task=2)
    assert found_now(None, first) == first
    assert found_now(first, second) == second
    assert found_now(first, replace(first, task=TaskId(3), at=at(5))) is None, "the same again is no news"
    assert found_now(found(DIGEST, "2.31"), found(DIGEST, "9.9", task=2)) is None
