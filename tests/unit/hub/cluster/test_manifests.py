"""What an upgrade would change."""

from __future__ import annotations

from hai_hub.cluster.manifests import Change, differences
from unit.hub.cluster.helm_kit import NEW, OLD


def test_no_secret_is_shown_only_that_it_changes() -> None:
    found = {difference.name: difference for difference in differences(OLD, NEW, namespace="n")}
    lines = "\n".join(found["s"].lines)
    assert "+  token: (another secret)" in lines
    for secret in ("b2xk", "bmV3", "c2FtZQ"):
        assert secret not in lines
    assert found["gone"].change is Change.REMOVED


def test_nothing_is_different_from_itself() -> None:
    assert differences(OLD, OLD, namespace="n") == []
