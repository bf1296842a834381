"""Which connections pods can open: tried by real pods, all at once, and compared with a table.

A network that holds policies drops what they forbid: such a try ends by its timeout, never by a refusal.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from kit.kubernetes.release import chart_wait_for, tool

#: Tries each `ADDRESS:PORT`, and whether each `NAME` has an address; prints a line for each, in an image with bash.
_TRY: Final = r"""
for way in "$@"; do
  (
    case $way in
      *:*) said=$(timeout 3 bash -c "exec 3<>/dev/tcp/${way%:*}/${way##*:}" 2>&1) ;;
      *) said=$(timeout 3 getent hosts "$way" 2>&1) ;;
    esac
    case $?/$said in 0/*) echo "$way open" ;; 124/*) echo "$way dropped" ;; *) echo "$way" "failed: "$said ;; esac
  ) &
done
wait
"""
OPEN: Final = "open"
DROPPED: Final = "dropped"


@dataclass(frozen=True)
class Source:
    """A pod that tries to open connections."""

    namespace: str
    pod: str
    #: Where pods reach this one.
    address: str

    @classmethod
    def of(cls, pod: Mapping[str, Any]) -> Source:
        return cls(pod["metadata"]["namespace"], pod["metadata"]["name"], pod["status"]["podIP"])

    def try_all(self, ways: Sequence[str]) -> dict[str, str]:
        """Try them at once. Returns by way whether it is open, dropped, or what else was said."""
        words = ["-n", self.namespace, "exec", self.pod, "--", "bash", "-c", _TRY, "-", *ways]
        lines = tool("kubectl", *words).splitlines()
        return {way: said for way, _, said in (line.partition(" ") for line in lines)}


@dataclass(frozen=True)
class Target:
    """Where connections end, and which sources may open them; those of `untried` may or may not."""

    #: `ADDRESS:PORT`, or a name that is looked up.
    way: str
    may: AbstractSet[str]
    untried: AbstractSet[str] = frozenset()


def faults(sources: Mapping[str, Source], targets: Mapping[str, Target]) -> list[str]:
    """Try what the table says until it is so; returns what stays otherwise, a line for each.

    A new pod is open until the network has heard of it, and a program listens only after a while.
    """
    assert [name for name, target in targets.items() if not target.may & sources.keys()] == []
    left = {source: {name for name in targets if source not in targets[name].untried} for source in sources}
    found: list[str] = []

    def look() -> bool:
        found.clear()
        asked = {source: names for source, names in left.items() if names}
        with ThreadPoolExecutor(len(asked)) as pool:
            ways = [sorted({targets[name].way for name in names}) for names in asked.values()]
            answers = list(pool.map(Source.try_all, (sources[source] for source in asked), ways))
        for (source, names), said in zip(asked.items(), answers, strict=True):
            for name in sorted(names):
                wanted = OPEN if source in targets[name].may else DROPPED
                seen = said.get(targets[name].way, "nothing was said")
                if seen == wanted:
                    names.remove(name)
                else:
                    found.append(f"{source} -> {name} ({targets[name].way}) should be {wanted}: {seen}")
        return not found

    try:
        chart_wait_for("all ways to be as the table says", look)
    except AssertionError:
        assert found
    return found


@contextmanager
def listening(address: str) -> Iterator[int]:
    """A port of this machine at which anybody can open connections."""
    with socket.socket() as made:
        made.bind((address, 0))
        made.listen(128)
        yield made.getsockname()[1]


def stranger(name: str, namespace: str, image: str, labels: Mapping[str, str]) -> None:
    """Create a pod that does nothing, with these labels, within the standard `restricted`."""
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "it",
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["sleep", "3600"],
                    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                    "resources": {"requests": {"cpu": "0"}},
                }
            ],
        },
    }
    # The API server takes no pod before the namespace's account is there.
    chart_wait_for(
        "the namespace's account",
        lambda: tool("kubectl", "-n", namespace, "get", "serviceaccount", "default", "-o", "name", check=False),
    )
    tool("kubectl", "create", "-f", "-", given=json.dumps(body))
