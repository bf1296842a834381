"""How many processes the kernel has ended because this process's cgroup, or the machine, was out of memory."""

from __future__ import annotations

CGROUPS = "/sys/fs/cgroup"
OWN = "/proc/self/cgroup"


def kills(own: str = OWN, root: str = CGROUPS) -> int:
    """Return the kernel's count for this process's cgroup (version 2 or 1); 0 where it keeps none.

    A container may not see the names of its cgroup's parents: then its own cgroup is where it is mounted.
    """
    for line in _text(own).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers not in ("", "memory"):
            continue
        name = "memory.oom_control" if controllers else "memory.events"
        # Hybrid: version 2 is mounted beside the controllers of version 1.
        for folder in (f"{root}/{controllers}" if controllers else root, f"{root}/unified"):
            for place in (f"{folder}{path.rstrip('/')}/{name}", f"{folder}/{name}"):
                for word, _, number in (entry.partition(" ") for entry in _text(place).splitlines()):
                    if word == "oom_kill" and number.isdigit():
                        return int(number)
    return 0


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:  # noqa: PTH123  # pathlib costs milliseconds
            return file.read()
    except OSError:
        return ""
