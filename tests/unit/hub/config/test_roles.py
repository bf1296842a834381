"""Roles and scopes, as data."""

from __future__ import annotations

from jupyterhub.scopes import scope_definitions

from hai_hub.config import roles
from hai_scheduler.service.shared import caller


def test_scopes_are_those_that_the_service_asks_for() -> None:
    asked = {value for name, value in vars(caller).items() if name.startswith("SCOPE_")}
    assert set(roles.CUSTOM_SCOPES) == asked | set(roles.FORMER.values())
    assert len(asked) == 6


def test_a_role_of_an_earlier_release_is_still_good_at_the_hub_and_at_the_service() -> None:
    """JupyterHub refuses to start with a role whose scope it does not know; a service of before asks for that name."""
    assert dict(caller.FORMER_SCOPES) == roles.FORMER
    for scope, former in roles.FORMER.items():
        assert roles.CUSTOM_SCOPES[scope]["subscopes"] == [former]
        assert "subscopes" not in roles.CUSTOM_SCOPES[former]


def test_writing_includes_reading_and_administration_includes_writing() -> None:
    assert roles.CUSTOM_SCOPES[roles.WRITE]["subscopes"] == [roles.READ]
    assert roles.CUSTOM_SCOPES[roles.ADMIN]["subscopes"] == [roles.WRITE, roles.CONTAINERS, roles.ACTIVE_USERS]
    assert "subscopes" not in roles.CUSTOM_SCOPES[roles.METRICS]


def test_users_may_enter_the_service_and_use_their_own_tasks_and_no_more() -> None:
    assert set(roles.USER_SCOPES) == {"access:services!service=hai", "custom:hai:tasks:write"}


def test_a_users_lab_has_no_administrators_scope() -> None:
    assert not {roles.ADMIN, roles.METRICS, roles.ACTIVE_USERS, roles.CONTAINERS} & set(roles.SERVER_SCOPES)


def test_the_local_users_token_asks_for_nothing_that_their_role_lacks() -> None:
    assert set(roles.LOCAL_TOKEN_SCOPES) <= set(roles.ADMIN_SCOPES)


def test_up_may_do_nothing_but_make_tokens_for_the_local_user() -> None:
    up = next(role for role in roles.roles("ann") if role["name"] == "hai-up")
    assert up["services"] == ["hai-up"]
    assert all(scope.endswith("!user=ann") for scope in up["scopes"])


def test_the_service_only_reads() -> None:
    service = next(role for role in roles.roles("ann") if role["name"] == "hai-service")
    assert all(scope.startswith(("read:", "list:")) for scope in service["scopes"])


def test_every_scope_is_one_that_the_hub_knows() -> None:
    known = set(scope_definitions) | set(roles.CUSTOM_SCOPES)
    for role in roles.roles("ann"):
        assert {scope.partition("!")[0] for scope in role["scopes"]} <= known, role["name"]
    assert {scope.partition("!")[0] for scope in (*roles.SERVER_SCOPES, *roles.USER_SCOPES)} <= known
