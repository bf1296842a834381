"""How this machine is cut into nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_scheduler.adapters.local.nodes import NodesError, local_nodes


def cut(real: int, first: int = 0, **flags) -> list[tuple[str, int, tuple[int, ...]]]:
    gpus = range(first, first + real)
    return [(local.node.name, local.node.gpus, local.gpu_ids) for local in local_nodes(real=gpus, **flags)]


def test_without_gpus_nodes_and_gpus_are_simulated() -> None:
    assert cut(0) == [(f"node-{n}", 1, ()) for n in (1, 2, 3, 4)]
    assert cut(0, count=2, gpus_per_node=8) == [("node-1", 8, ()), ("node-2", 8, ())]


def test_each_gpu_is_a_node_unless_the_flags_say_otherwise() -> None:
    assert cut(2) == [("node-1", 1, (0,)), ("node-2", 1, (1,))]
    assert cut(4, count=2) == [("node-1", 2, (0, 1)), ("node-2", 2, (2, 3))]
    assert cut(4, gpus_per_node=2) == [("node-1", 2, (0, 1)), ("node-2", 2, (2, 3))]
    assert cut(4, count=1, gpus_per_node=1) == [("node-1", 1, (0,))]
    assert cut(2, first=6) == [("node-1", 1, (6,)), ("node-2", 1, (7,))]


def test_more_than_the_machine_has_is_simulated() -> None:
    assert cut(1, count=2) == [("node-1", 1, ()), ("node-2", 1, ())]
    assert cut(2, count=2, gpus_per_node=0) == [("node-1", 0, ()), ("node-2", 0, ())]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"count": 0}, "the number of nodes is 0; it must be 1 or more"),
        ({"gpus_per_node": -1}, "the number of GPUs per node is -1; it must be 0 or more"),
    ],
)
def test_senseless_flags_are_refused(flags, message) -> None:
    with pytest.raises(NodesError, match=message):
        local_nodes(**flags)


def test_a_file_names_nodes_groups_places_and_gpus(tmp_path: Path) -> None:
    file = tmp_path / "nodes.toml"
    file.write_text(
        '[[node]]\nname = "big"\nleaf = "a"\nzone = "z"\ngpu_ids = [0, 1]\n'
        '[[node]]\nname = "small"\ngroup = "jupyter"\ngpus = 4\n'
    )
    big, small = local_nodes(file=file)
    assert (big.node.group, big.node.leaf, big.node.zone, big.node.gpus, big.gpu_ids) == (
        "training",
        "a",
        "z",
        2,
        (0, 1),
    )
    assert (small.node.group, small.node.gpus, small.gpu_ids) == ("jupyter", 4, ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no node; write one [[node]] table per node"),
        ("x = [", "not TOML: "),
        ("nodes = 1", "unknown key 'nodes'; the file holds [[node]] tables only"),
        ("[[node]]\ngpus = 1", "[[node]] 1: field name: None must be 1 to 63 letters"),
        ('[[node]]\nname = "a/b"', "[[node]] 1 (a/b): field name: 'a/b' must be 1 to 63 letters"),
        ('[[node]]\nname = "a"\ngpus = -1', "[[node]] 1 (a): field gpus: -1 must be a whole number, 0 or more"),
        ('[[node]]\nname = "a"\ngpus = true', "field gpus: True must be a whole number"),
        ('[[node]]\nname = "a"\ncpu = 1', "field cpu: 1 is unknown; the fields are name, group, leaf"),
        ('[[node]]\nname = "a"\nleaf = 3', "field leaf: 3 must be a word in quotes"),
        ('[[node]]\nname = "a"\ngpu_ids = [0, 0]', "field gpu_ids: [0, 0] names a GPU twice; name each once"),
        ('[[node]]\nname = "a"\ngpu_ids = ["x"]', "field gpu_ids: ['x'] must be a list of GPU indices"),
        ('[[node]]\nname = "a"\ngpus = 3\ngpu_ids = [0]', "field gpus: 3 does not match gpu_ids, which lists 1"),
        (
            '[[node]]\nname = "a"\n[[node]]\nname = "a"',
            "[[node]] 2: field name: 'a' is the name of [[node]] 1 too; give each node its own",
        ),
        (
            '[[node]]\nname = "a"\ngpu_ids = [1]\n[[node]]\nname = "b"\ngpu_ids = [1]',
            "[[node]] 2 (b): field gpu_ids: GPU 1 belongs to a already; give each GPU to one node",
        ),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_place_and_remedy(tmp_path: Path, text, message) -> None:
    file = tmp_path / "nodes.toml"
    file.write_text(text)
    with pytest.raises(NodesError) as error:
        local_nodes(file=file)
    assert str(error.value).startswith(f"{file}: ")
    assert message in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NodesError, match=r"none\.toml: No such file or directory; name a readable file"):
        local_nodes(file=tmp_path / "none.toml")
