"""Lists of hosts, and of numbers by node."""

from __future__ import annotations

import pytest

from hai_client.launching.hostlist import MAX_HOSTS, BadHostlist, expand, repeated


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", []),
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("127.0.0.1,127.0.0.2", ["127.0.0.1", "127.0.0.2"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10,12].x,m", ["n08.x", "n09.x", "n10.x", "n12.x", "m"]),
        ("r[1-2]n[3-4]", ["r1n3", "r1n4", "r2n3", "r2n4"]),
        ("a b\nc", ["a", "b", "c"]),
    ],
)
def test_a_list_of_hosts_is_what_slurm_means(text: str, hosts: list[str]) -> None:
    assert expand(text) == hosts


@pytest.mark.parametrize("text", ["a[1", "a]1", "a[[1]]", "a[x]", f"a[0-{MAX_HOSTS}]", "a[1-999],b[1-99999999]"])
def test_what_is_no_list_of_hosts_is_refused(text: str) -> None:
    with pytest.raises(BadHostlist):
        expand(text)


@pytest.mark.parametrize(
    ("numbers", "text"), [((2, 2, 2), "2(x3)"), ((2, 1), "2,1"), ((3, 3, 1), "3(x2),1"), ((4,), "4")]
)
def test_numbers_by_node_are_written_as_slurm_does(numbers: tuple[int, ...], text: str) -> None:
    assert repeated(numbers) == text
