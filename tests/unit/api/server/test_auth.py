"""What the Hub's answer means here."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_hub.culler.__main__ import BELIEVED_S
from hai_scheduler.api.server.auth import BELIEVED, Auth, caller_of, has_scope
from hai_scheduler.api.server.streaming import LOOKS_AGAIN
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, SCOPE_METRICS, SCOPE_READ, SCOPE_WRITE

READ, WRITE, ADMIN = SCOPE_READ, SCOPE_WRITE, SCOPE_ADMIN


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        ([], set()),
        ([READ], {READ}),
        ([WRITE], {READ, WRITE}),
        ([ADMIN], {READ, WRITE, ADMIN}),
        ([f"{WRITE}!user=alice"], {READ, WRITE}),
        ([f"{WRITE}!user=bob"], set()),
        ([f"{ADMIN}!user=alice"], set()),
        ([f"{ADMIN}!group=ml"], set()),
        ([SCOPE_METRICS], {SCOPE_METRICS}),
        ([f"{READ}:more", "admin:users"], set()),
    ],
)
def test_a_scope_allows_what_it_contains_and_no_filter_widens_it(scopes, allowed) -> None:
    caller = caller_of({"name": "alice", "kind": "user", "groups": [], "scopes": scopes})
    assert {scope for scope in (READ, WRITE, ADMIN, SCOPE_METRICS) if has_scope(caller, scope)} == allowed
    assert caller.admin == (ADMIN in allowed)


def test_groups_may_be_left_out() -> None:
    assert caller_of({"name": "a", "kind": "user", "scopes": []}).groups == frozenset()


def test_a_service_is_named_apart_from_users() -> None:
    caller = caller_of({"name": "alice", "kind": "service", "scopes": []})
    assert (caller.name, caller.kind) == ("service:alice", "service")


def test_the_token_of_the_service_may_be_in_a_file(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("JUPYTERHUB_API_TOKEN", raising=False)
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN_FILE", str(tmp_path / "token"))
    (tmp_path / "token").write_text("token-of-the-service\n")
    auth = Auth.from_environment(run_tokens=RunTokens(Secret("s")), cookie_secret=Secret("c"))
    assert auth.hub.api_token == "token-of-the-service"


def test_the_hubs_answer_is_believed_for_as_long_as_the_docs_say(monkeypatch) -> None:
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "x")
    auth = Auth.from_environment(run_tokens=RunTokens(Secret("s")), cookie_secret=Secret("c"))
    page = " ".join((Path(__file__).parents[4] / "docs" / "security.md").read_text().split())
    assert auth.hub.cache.max_age == BELIEVED == BELIEVED_S
    assert f"believe the answer for {BELIEVED} seconds" in page
    assert f"an open stream (`/events`, `hai logs -f`) within {BELIEVED + LOOKS_AGAIN:.0f}" in page
