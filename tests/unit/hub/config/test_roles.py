"""Roles and scopes, as data."""

from __future__ import annotations

import pytest
from jupyterhub.scopes import _check_scopes_exist, _intersect_expanded_scopes, scope_definitions

from hai_hub.config import roles
from hai_scheduler.api.server.auth import caller_of
from hai_scheduler.service.shared import caller


def test_scopes_are_those_that_the_service_asks_for() -> None:
    asked = {value for name, value in vars(caller).items() if name.startswith("SCOPE_")}
    assert set(roles.CUSTOM_SCOPES) == asked
    assert len(asked) == 9


def test_writing_includes_reading_and_administration_includes_writing() -> None:
    assert roles.CUSTOM_SCOPES[roles.WRITE]["subscopes"] == [roles.READ]
    assert roles.CUSTOM_SCOPES[roles.ADMIN]["subscopes"] == [
        roles.WRITE,
        roles.CONTAINERS,
        roles.ACTIVE_USERS,
        roles.ARCHIVE,
        roles.ENVIRONMENTS,
    ]
    assert "subscopes" not in roles.CUSTOM_SCOPES[roles.METRICS]


def test_users_may_enter_the_service_and_use_their_own_tasks_and_no_more() -> None:
    assert set(roles.USER_SCOPES) == {"access:services!service=hai", "custom:hai:tasks:write"}


def test_no_user_may_build_for_a_group_unless_a_role_says_so() -> None:
    assert roles.ENVIRONMENTS not in roles.USER_SCOPES
    # The Hub reduces it to the groups for which the user has it.
    assert roles.ENVIRONMENTS in roles.SERVER_SCOPES


def test_no_admin_may_make_anybody_somebody_else() -> None:
    assert roles.IDENTITIES not in {*roles.ADMIN_SCOPES, *roles.LOCAL_TOKEN_SCOPES, *roles.SERVER_SCOPES}


def test_a_users_lab_has_no_administrators_scope() -> None:
    assert not {roles.ADMIN, roles.ARCHIVE, roles.METRICS, roles.ACTIVE_USERS, roles.CONTAINERS} & set(
        roles.SERVER_SCOPES
    )


def test_the_local_users_token_asks_for_nothing_that_their_role_lacks() -> None:
    assert set(roles.LOCAL_TOKEN_SCOPES) <= set(roles.ADMIN_SCOPES)


def test_up_may_do_nothing_but_make_tokens_for_the_local_user() -> None:
    up = next(role for role in roles.roles("ann") if role["name"] == "hai-up")
    assert up["services"] == ["hai-up"]
    assert all(scope.endswith("!user=ann") for scope in up["scopes"])


def test_the_service_reads_and_archives_whom_the_hub_deletes() -> None:
    service = next(role for role in roles.roles("ann") if role["name"] == "hai-service")
    # With its token, the Hub asks it who is archived and who has tasks, has it archive, and tells it who users are.
    own = {roles.ACCESS, roles.ACTIVE_USERS, roles.ARCHIVE, roles.CONTAINERS, roles.IDENTITIES}
    assert all(scope.startswith(("read:", "list:")) for scope in {*service["scopes"]} - own)


def test_every_scope_is_one_that_the_hub_knows() -> None:
    known = set(scope_definitions) | set(roles.CUSTOM_SCOPES)
    for role in roles.roles("ann"):
        assert {scope.partition("!")[0] for scope in role["scopes"]} <= known, role["name"]
    assert {scope.partition("!")[0] for scope in (*roles.SERVER_SCOPES, *roles.USER_SCOPES)} <= known


def test_the_right_to_build_for_a_group_is_a_scope_with_a_filter_that_the_hub_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for scope, about in roles.CUSTOM_SCOPES.items():
        monkeypatch.setitem(scope_definitions, scope, about)
    mine = frozenset({f"{roles.ENVIRONMENTS}!group=cv", roles.WRITE})
    _check_scopes_exist(mine)
    # A server's token asks for the scope without a filter, and gets what its user has.
    assert f"{roles.ENVIRONMENTS}!group=cv" in _intersect_expanded_scopes(mine, frozenset({roles.ENVIRONMENTS}))
    model = {"name": "ann", "kind": "user", "groups": ["cv", "ml"], "scopes": sorted(mine)}
    assert caller_of(model).builds_for == {"cv"}
    assert caller_of({**model, "scopes": [roles.ENVIRONMENTS]}).builds_for == {"cv", "ml"}
    assert caller_of({**model, "scopes": [f"{roles.ENVIRONMENTS}!user=ann"]}).builds_for == {"cv", "ml"}
    assert caller_of({**model, "groups": [], "scopes": [f"{roles.ENVIRONMENTS}!group=cv"]}).builds_for == set()
    assert caller_of({**model, "scopes": [roles.WRITE]}).builds_for == set()
