"""Expressions of PromQL, as the metrics of HAI must be read.

All replicas of the API show the same numbers of the platform: of these, `max` is right. What a replica counts of itself
is added up. `HERE` limits an expression to one platform where one Prometheus looks at several.
"""

from __future__ import annotations

from typing import Final

#: In dashboards a variable; in alerts the chart writes the namespace of its release.
HERE: Final = 'namespace=~"$namespace"'
#: Grafana's own: some scrapes.
INTERVAL: Final = "$__rate_interval"


def platform(metric: str, by: str = "", **where: str) -> str:
    """A gauge of the platform. `where`: regular expressions of labels."""
    return f"max by ({by}) ({metric}{_all(where)})"


def summed(metric: str, by: str = "") -> str:
    """A gauge that each replica has of itself, of all of them."""
    return f"sum by ({by}) ({metric}{_all({})})"


def growth(metric: str, by: str = "", over: str = INTERVAL, **where: str) -> str:
    """A counter of the platform, a second."""
    return f"max by ({by}) (rate({metric}{_all(where)}[{over}]))"


def own(metric: str, by: str = "", over: str = INTERVAL, **where: str) -> str:
    """A counter of each replica, a second, of all of them."""
    return f"sum by ({by}) (rate({metric}{_all(where)}[{over}]))"


def quantile(part: float, metric: str, by: str = "", over: str = INTERVAL, **where: str) -> str:
    """The value below which a part of all values of a histogram lies."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({part}, max by ({labels}) (rate({metric}_bucket{_all(where)}[{over}])))"


def increase(metric: str, over: str, **where: str) -> str:
    """How much a counter has grown, in each replica."""
    return f"increase({metric}{_all(where)}[{over}])"


def share(states: str, of: str, over: str) -> str:
    """The part of node time that was in `states`, of the time in the states `of`; both are regular expressions."""
    return f"sum({_time(states, over)}) / sum({_time(of, over)})"


def _time(states: str, over: str) -> str:
    return growth("hai_node_seconds_total", "group, state", over, state=states)


def _all(where: dict[str, str]) -> str:
    return "{" + ", ".join([HERE, *(f'{label}=~"{value}"' for label, value in where.items())]) + "}"
