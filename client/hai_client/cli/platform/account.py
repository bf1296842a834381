"""`hai login` and `hai whoami`."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from urllib.parse import urlsplit

from hai_client import settings
from hai_client.api import Client
from hai_client.cli.platform.quota import by_level, limit
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.parser import Command, option
from hai_client.errors import HaiError, Invalid, NotLoggedIn
from hai_client.http import Transport
from hai_client.hub import Hub
from hai_client.settings import Settings
from hai_client.snapshots.machine import machine_id
from hai_client.wire.schema import Me

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _nothing(_parser: argparse.ArgumentParser) -> None:
    pass


def _whoami(_args: argparse.Namespace, ctx: Context) -> None:
    me = ctx.client.me()
    url = ctx.settings().url
    if ctx.answered({"url": url, "me": me}):
        return
    kind = "" if me.kind == "user" else f" (a {me.kind})"
    ctx.out.line(f"{ctx.out.style(me.name, 'bold')}{kind}{account(me)}")
    ctx.out.line(f"  at       {url}")
    if me.no_identity:
        ctx.out.line(f"  runs as  nobody: {me.no_identity}")
    ctx.out.line(f"  may      {rights(me)}")
    ctx.out.line(f"  groups   {' '.join(me.groups) or 'none'}")
    for at, row in enumerate(sorted(me.quota, key=by_level)):
        head = "quota" if at == 0 else ""
        ctx.out.line(f"  {head:<9}{row.priority} in {row.group}: {row.used:g} in use of {limit(row.limit)}")


def account(me: Me) -> str:
    """Return the numbers of the account that a user's processes run as; empty: the platform's one account."""
    if me.identity is None:
        return ""
    groups = (f"{group.name}({group.gid})" if group.name else str(group.gid) for group in me.identity.groups)
    return f"  uid {me.identity.uid}  groups {' '.join(groups)}"


def rights(me: Me) -> str:
    """Return what a user may do, in words."""
    if me.admin or "custom:hai:admin" in me.scopes:
        return "do everything (admin)"
    if "custom:hai:tasks:write" in me.scopes:
        return "submit and steer tasks"
    return "look only; an admin gives the right to submit"


def _configure_login(parser: argparse.ArgumentParser) -> None:
    option(parser, "--user NAME", "who you are at the Hub (asked for)")
    ways = parser.add_mutually_exclusive_group()
    option(ways, "--token-stdin", "read a token of the Hub's token page from standard input")
    option(ways, "--password-stdin", "read the password from standard input")


def _login(args: argparse.Namespace, ctx: Context) -> None:
    url = _address(ctx)
    if args.token_stdin:
        token = settings.check_token(sys.stdin.readline())
        user = _owner(Settings(url, token), args.user)
        scopes: tuple[str, ...] = ()
    else:
        user = args.user or _ask(ctx, f"user at {url}: ")
        made = Hub(Settings(url), waiting=ctx.waiting).login(user, _password(args, ctx, url, user))
        token, scopes = made.token, made.scopes
    root = _haienv_root(Settings(url, token))
    path = settings.save(Settings(url, token, user, haienv_root=root))
    ctx.answer(
        {"url": url, "user": user, "file": str(path), "scopes": scopes},
        f"logged in at {url} as {user}; the token is in {path}, for you alone to read",
    )
    for name in ("HAI_TOKEN", "JUPYTERHUB_API_TOKEN"):
        if os.environ.get(name) and (name == "HAI_TOKEN" or os.environ.get("HAI_URL")):
            ctx.out.note(f"{name} is set here and wins over this login; to use the login: unset {name}")


def _haienv_root(found: Settings) -> str | None:
    """Return the folder of the platform's environments, if the platform runs here and the user may read them."""
    client = Client(transport=Transport(found.api_url, found.token, delays_s=()))
    try:
        if client.snapshot_rules().machine != machine_id():
            return None
        root = client.environment_list(kind="haienv").root
    except HaiError:
        # The login is good without it, and `haienv create` says where it makes environments.
        return None
    return root if root and os.access(root, os.R_OK | os.X_OK) else None


def _address(ctx: Context) -> str:
    try:
        return ctx.settings(need_token=False).url
    except NotLoggedIn:
        return settings.DEFAULT_URL


def _owner(found: Settings, claimed: str | None) -> str:
    """Return the owner of the token, by asking the platform, so that a wrong token is not kept."""
    name = Client.of(found).me().name
    if claimed not in (None, name):
        raise Invalid(f"user: the token is {name}'s, not {claimed}'s; leave --user out or use another token")
    return name


def _password(args: argparse.Namespace, ctx: Context, url: str, user: str) -> str:
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        ctx.out.note(f"{url} is not encrypted: others on the way can read the password; use https if you can")
    if args.password_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise Invalid("password: there is no terminal to ask at; use --password-stdin or --token-stdin")
    try:
        return getpass.getpass(f"password of {user}: ")
    except EOFError:
        raise Invalid("password: none given; try again") from None


def _ask(ctx: Context, prompt: str) -> str:
    if not sys.stdin.isatty():
        raise Invalid("user: there is no terminal to ask at; give --user NAME")
    ctx.out.stderr.write(prompt)
    ctx.out.stderr.flush()
    answer = sys.stdin.readline().strip()
    if not answer:
        raise Invalid("user: none given; try again, or give --user NAME")
    return answer


COMMANDS = {
    "whoami": Command("whoami", _nothing, _whoami, about="Show who you are, where, and what you may do."),
    "login": Command(
        "login",
        _configure_login,
        _login,
        about=(
            "Get a token from the Hub with your name and password and keep it. Where people sign in another way,\n"
            "make a token on the Hub's page /hub/token and hand it over with --token-stdin."
        ),
        examples=(
            "examples:\n  hai login --url https://hub.example.org --user alice\n  hai login --token-stdin < token.txt"
        ),
    ),
}
