"""How often the kernel has ended processes of a cgroup for lack of memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_client.linux.oom import kills

V2 = "low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 1\n"
V1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"


@pytest.mark.parametrize(
    ("own", "files", "found"),
    [
        ("0::/user.slice/hai\n", {"user.slice/hai/memory.events": V2}, 2),
        ("0::/\n", {"memory.events": V2}, 2),
        ("0::/../../kubepods/pod1/x\n", {"memory.events": V2}, 2),
        ("9:cpu,cpuacct:/x\n5:memory:/kubepods/pod1/x\n0::/\n", {"memory/memory.oom_control": V1}, 3),
        ("5:memory:/kubepods/x\n", {"memory/kubepods/x/memory.oom_control": V1, "memory/memory.oom_control": ""}, 3),
        ("5:memory:/a\n", {"memory/a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n"}, 0),
        ("0::/a\n", {"unified/a/memory.events": V2}, 2),
        ("0::/a\n", {"a/memory.events": "oom_kill many\n"}, 0),
        ("", {}, 0),
    ],
    ids=["2", "2 as a container sees it", "2, others' names", "1 as a container sees it", "1", "before 4.13", "hybrid",
         "no number", "no cgroup"],
)  # fmt: skip
def test_the_count_is_of_the_cgroup_of_either_version(
    tmp_path: Path, own: str, files: dict[str, str], found: int
) -> None:
    (tmp_path / "own").write_text(own)
    for name, text in files.items():
        file = tmp_path / "cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert kills(str(tmp_path / "own"), str(tmp_path / "cgroup")) == found


def test_this_machine_is_read_without_an_error() -> None:
    assert kills() >= 0
