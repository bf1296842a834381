"""Quantities of Kubernetes, read and written."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from hai_client.quantity import (
    amount,
    count_of,
    format_bytes,
    format_count,
    mebibytes,
    parse_quantity,
    pod_requests,
    thousandths,
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4", 4),
        (2, 2),
        (" 500m ", "0.5"),
        ("3920m", "3.92"),
        ("0.5", "0.5"),
        ("1.5", "1.5"),
        ("1e3", 1000),
        ("2G", 2 * 10**9),
        ("16Gi", 16 * 2**30),
        ("24581696Ki", 24581696 * 1024),
    ],
)
def test_quantities_are_read_as_kubernetes_does(text: object, number: str | int) -> None:
    assert parse_quantity(text) == Decimal(number)


@pytest.mark.parametrize(
    "text",
    ["", "x", "many", "1 Gi", "1GB", "16GiB", "--1", "1.2.3", "1e999", None, True, [1], "nan", "Infinity"],
)
def test_what_is_no_quantity_is_refused_with_its_text(text: object) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{text!r} is no quantity; write for example")):
        parse_quantity(text)


def test_things_are_counted_whole_and_what_cannot_be_read_is_none() -> None:
    assert [count_of(text) for text in ("4", "1500m", "-1", None, "some")] == [4, 1, 0, 0, 0]


def test_amounts_are_written_rounded_down() -> None:
    assert thousandths(Decimal("1.2345")) == "1234m"
    assert mebibytes(Decimal(3 * 2**20 - 1)) == "2Mi"


def test_bytes_are_shown_with_the_largest_unit() -> None:
    assert [format_bytes(Decimal(text)) for text in (512, 2**30, 3 * 2**29)] == ["512 B", "1 GiB", "1.5 GiB"]
    assert [format_count(Decimal(text)) for text in ("2", "0.5")] == ["2", "0.5"]


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (14_000, "14 kB"), (1_230, "1.2 kB"), (999_900, "1.0 MB"), (41 * 10**9, "41 GB")],
)
def test_sizes_are_written_as_people_write_them(size: int, text: str) -> None:
    assert amount(size) == text


def asks(always: bool = False, **amounts: str) -> dict[str, object]:
    """A container that requests these amounts; `always`: a sidecar among the init containers."""
    return {"resources": {"requests": amounts}, **({"restartPolicy": "Always"} if always else {})}


#: sentence, containers, init containers, what the pod takes
PODS = [
    ("nothing", [], [], {}),
    ("all containers together", [asks(cpu="1"), asks(cpu="500m", memory="1Gi")], [], {"cpu": "1.5", "memory": 2**30}),
    ("a limit without a request", [{"resources": {"limits": {"gpu": "2"}}}], [], {"gpu": 2}),
    ("the largest init container, if it is larger", [asks(cpu="1")], [asks(cpu="3"), asks(cpu="2")], {"cpu": 3}),
    ("init containers run one by one", [asks(cpu="4")], [asks(cpu="3"), asks(cpu="3")], {"cpu": 4}),
    ("sidecars go on beside the containers", [asks(cpu="2")], [asks(always=True, cpu="1")], {"cpu": 3}),
    ("and beside later init containers", [asks(cpu="1")], [asks(always=True, cpu="1"), asks(cpu="3")], {"cpu": 4}),
    ("not beside earlier ones", [asks(cpu="1")], [asks(cpu="3"), asks(always=True, cpu="1")], {"cpu": 3}),
    ("what cannot be read", [asks(cpu="many", memory="1Ki")], [], {"cpu": 0, "memory": 1024}),
    ("nothing said", [{}], [{"resources": None}], {}),
]


@pytest.mark.parametrize(("containers", "init", "takes"), [row[1:] for row in PODS], ids=[row[0] for row in PODS])
def test_a_pod_takes_what_kubelets_count(containers: list, init: list, takes: dict[str, str | int]) -> None:
    spec = {"containers": containers, "initContainers": init, "overhead": {"overhead": "250m"}}
    expected = {name: Decimal(number) for name, number in takes.items()}
    assert pod_requests({"spec": spec}) == {**expected, "overhead": Decimal("0.25"), "pods": 1}


def test_requests_of_the_pod_itself_take_the_place_of_its_containers() -> None:
    spec = {"containers": [asks(cpu="1", memory="1Ki"), asks(cpu="1")], "resources": {"requests": {"cpu": "1500m"}}}
    assert pod_requests({"spec": spec}) == {"cpu": Decimal("1.5"), "memory": 1024, "pods": 1}
    assert pod_requests({}) == {"pods": 1}
