"""Reads Kubernetes nodes as nodes of the platform. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from hai_scheduler.adapters.kubernetes.resources import capacity_of
from hai_scheduler.adapters.kubernetes.selectors import Selector, matches, parse_selector, tolerated
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.core.model.node import Node

#: Taints that repeat what is read elsewhere: readiness and `unschedulable`.
_REPEATED: Final = frozenset(f"node.kubernetes.io/{word}" for word in ("not-ready", "unreachable", "unschedulable"))
#: Conditions that the cluster repeats as taints: what they tell is in their message.
_TAINTING: Final = {
    "node.kubernetes.io/memory-pressure": "MemoryPressure",
    "node.kubernetes.io/disk-pressure": "DiskPressure",
    "node.kubernetes.io/pid-pressure": "PIDPressure",
    "node.kubernetes.io/network-unavailable": "NetworkUnavailable",
}
_EFFECTS: Final = ("NoSchedule", "NoExecute")


class NodeReader:
    """Reads nodes as the settings say. Raises SelectorError if the selector of a group cannot be read."""

    def __init__(self, settings: ClusterSettings) -> None:
        self._settings = settings
        self._groups: dict[str, Selector] = {
            group: parse_selector(text) for group, text in sorted(settings.groups.items())
        }

    def read(self, node: Mapping[str, Any]) -> Node | None:
        """Return the node; None if its labels put it into no group of the platform.

        A node that is in two groups is closed, because each group would give it away.
        """
        labels = node["metadata"].get("labels") or {}
        groups = self._groups_of(labels)
        ours = [group for group in groups if group not in self._settings.ignored_groups]
        if not ours:
            return None
        ready, trouble = readiness(node)
        closed = _closed(node, groups, self._settings)
        return Node(
            name=node["metadata"]["name"],
            group=ours[0],
            leaf=labels.get(self._settings.leaf_label, ""),
            zone=labels.get(self._settings.zone_label, ""),
            gpus=capacity_of(node, self._settings.gpu_resources).gpu_count,
            ready=ready,
            closed=bool(closed),
            leaving=_leaves(node, self._settings),
            message="; ".join(part for part in (trouble, closed) if part),
        )

    def _groups_of(self, labels: Mapping[str, str]) -> list[str]:
        found = {group for group, selector in self._groups.items() if matches(selector, labels)}
        named = labels.get(self._settings.group_label)
        return sorted(found | ({named} if named else set()))


def readiness(node: Mapping[str, Any]) -> tuple[bool, str]:
    """Return whether the node is ready, and why it is not (empty if it is)."""
    condition = _condition(node, "Ready")
    if condition.get("status") == "True":
        return True, ""
    since = condition.get("lastTransitionTime")
    words = condition.get("message") or condition.get("reason") or "nothing is known of it yet"
    return False, f"not ready{f' since {since}' if since else ''}: {words}"


def not_ready_since(node: Mapping[str, Any]) -> datetime | None:
    """Return since when the node has not been ready; None if it is ready, or if the time is not known."""
    condition = _condition(node, "Ready")
    if condition.get("status") == "True" or not condition.get("lastTransitionTime"):
        return None
    return datetime.fromisoformat(condition["lastTransitionTime"])


def _condition(node: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    conditions = (node.get("status") or {}).get("conditions") or []
    return next((condition for condition in conditions if condition.get("type") == kind), {})


def _closed(node: Mapping[str, Any], groups: list[str], settings: ClusterSettings) -> str:
    """Return why the node gets no new runs; empty if it may get them."""
    spec = node.get("spec") or {}
    reasons = []
    if len(groups) > 1:
        reasons.append(f"its labels put it into the groups {' and '.join(groups)}: correct the labels of the node")
    if spec.get("unschedulable"):
        reasons.append("cordoned in Kubernetes (kubectl uncordon opens it)")
    if node["metadata"].get("deletionTimestamp"):
        reasons.append("being removed from Kubernetes")
    for taint in spec.get("taints") or []:
        repeated = taint.get("effect") not in _EFFECTS or taint.get("key") in _REPEATED
        if _takes_away(taint, settings):
            reasons.append(f"being taken away, as its taint {_words(taint)} says")
        elif not repeated and not tolerated(taint, settings.tolerations):
            why = _condition(node, _TAINTING.get(taint.get("key", ""), "")).get("message")
            more = f" ({why})" if why else ""
            reasons.append(f"tainted {_words(taint)}{more}, which the platform's pods do not tolerate")
    return "; ".join(reasons)


def _leaves(node: Mapping[str, Any], settings: ClusterSettings) -> bool:
    """Whether the node is about to be taken away: its runs are told to leave, with notice."""
    taints = (node.get("spec") or {}).get("taints") or []
    return bool(node["metadata"].get("deletionTimestamp")) or any(_takes_away(taint, settings) for taint in taints)


def _takes_away(taint: Mapping[str, Any], settings: ClusterSettings) -> bool:
    """Whether the taint says so, whatever pods tolerate: a toleration keeps no machine up."""
    return taint.get("key") in settings.drain_taints and taint.get("effect") in _EFFECTS


def _words(taint: Mapping[str, Any]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint['effect']}"
