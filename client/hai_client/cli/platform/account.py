"""`hai login`, `hai logout` and `hai whoami`."""

from __future__ import annotations

import argparse
import contextlib
import getpass
import os
import socket
import sys
from datetime import datetime
from urllib.parse import urlsplit

from hai_client import settings
from hai_client.api import Client
from hai_client.cli.platform.quota import by_level, limit
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import ago, local
from hai_client.cli.shared.parser import Command, option
from hai_client.codec import parse_time
from hai_client.device_login import DeviceLogins, NoDeviceLogins
from hai_client.errors import Forbidden, HaiError, Invalid, NotLoggedIn
from hai_client.http import Transport
from hai_client.hub import Hub, HubToken
from hai_client.settings import Settings
from hai_client.snapshots.machine import machine_id
from hai_client.wire.schema import Me

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _nothing(_parser: argparse.ArgumentParser) -> None:
    pass


def _whoami(_args: argparse.Namespace, ctx: Context) -> None:
    me = ctx.client.me()
    found = ctx.settings()
    url, ends = found.url, _end(found)
    if ctx.answered({"url": url, "me": me, "ends": ends}):
        return
    kind = "" if me.kind == "user" else f" (a {me.kind})"
    ctx.out.line(f"{ctx.out.style(me.name, 'bold')}{kind}{account(me)}")
    ctx.out.line(f"  at       {url}")
    if me.no_identity:
        ctx.out.line(f"  runs as  nobody: {me.no_identity}")
    ctx.out.line(f"  may      {rights(me)}")
    if ends is not None:
        ctx.out.line(f"  until    {local(ends)}, {ago(ends)}")
    ctx.out.line(f"  groups   {' '.join(me.groups) or 'none'}")
    for at, row in enumerate(sorted(me.quota, key=by_level)):
        head = "quota" if at == 0 else ""
        ctx.out.line(f"  {head:<9}{row.priority} in {row.group}: {row.used:g} in use of {limit(row.limit)}")


def _end(found: Settings) -> datetime | None:
    """Return until when the token is good, as the Hub says, else as the file does; None: no end is known."""
    try:
        return _at_once(found).token_end()
    except HaiError:
        with contextlib.suppress(ValueError):
            return parse_time(found.ends or "")
        return None


def _at_once(found: Settings) -> Hub:
    """Return a Hub whose calls are not repeated."""
    return Hub(found, transport=Transport(f"{found.url}/hub/hai", found.token, delays_s=()))


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
    option(parser, "--user NAME", "log in with a name and a password, without a browser")
    option(parser, "--admin", "ask for the rights of an admin too, in a login by browser")
    ways = parser.add_mutually_exclusive_group()
    option(ways, "--token-stdin", "read a token of the Hub's token page from standard input")
    option(ways, "--password-stdin", "read the password from standard input")


def _login(args: argparse.Namespace, ctx: Context) -> None:
    url = _address(ctx)
    if args.token_stdin:
        token = settings.check_token(sys.stdin.readline())
        made = HubToken(token=token, user=_owner(Settings(url, token), args.user))
    elif args.user or args.password_stdin:
        made = _by_password(args, ctx, url)
    else:
        made = _by_browser(args, ctx, url)
    before = settings.kept(url)
    root = _haienv_root(Settings(url, made.token))
    ends = None if made.expires_at is None else made.expires_at.isoformat()
    path = settings.save(Settings(url, made.token, made.user, haienv_root=root, ends=ends))
    if before.ends and before.token != made.token:
        # It was made by an earlier login, for this file alone.
        with contextlib.suppress(HaiError):
            _at_once(before).revoke()
    until = f" until {local(made.expires_at)}" if made.expires_at else ""
    ctx.answer(
        {"url": url, "user": made.user, "file": str(path), "scopes": made.scopes, "ends": made.expires_at},
        f"logged in at {url} as {made.user}{until}; the token is in {path}, for you alone to read",
    )
    for name in ("HAI_TOKEN", "JUPYTERHUB_API_TOKEN"):
        if os.environ.get(name) and (name == "HAI_TOKEN" or os.environ.get("HAI_URL")):
            ctx.out.note(f"{name} is set here and wins over this login; to use the login: unset {name}")


def _by_browser(args: argparse.Namespace, ctx: Context, url: str) -> HubToken:
    """Print an address and a code, and wait for the person who opens the one and types the other."""
    logins = DeviceLogins(url, waiting=ctx.waiting)
    try:
        begun = logins.begin(socket.gethostname(), "admin" if args.admin else "tasks")
    except NoDeviceLogins:
        return _by_password(args, ctx, url)
    _warn_if_open(ctx, url, "token")
    ctx.out.note(
        f"open {logins.page} in a browser, on any machine, and type the code {begun.user_code}",
        f"the code is good for {begun.expires_in // 60} minutes; waiting (Ctrl-C ends this)",
    )
    return logins.wait(begun)


def _by_password(args: argparse.Namespace, ctx: Context, url: str) -> HubToken:
    user = args.user or _ask(ctx, f"user at {url}: ")
    made = Hub(Settings(url), waiting=ctx.waiting).login(user, _password(args, ctx, url, user))
    return HubToken(token=made.token, scopes=made.scopes, user=user, expires_at=made.expires_at)


def _logout(_args: argparse.Namespace, ctx: Context) -> None:
    try:
        found = settings.kept(ctx.url)
    except NotLoggedIn:
        found = None
    if found is None or found.token is None:
        ctx.answer({"url": found and found.url, "revoked": False}, "no login is kept here")
        return
    try:
        Hub(found, waiting=ctx.waiting).revoke()
        revoked = True
    except (Forbidden, NotLoggedIn):
        # The Hub does not know it any more.
        revoked = False
    path = settings.forget()
    what = "the token is revoked" if revoked else "the token was not good any more"
    ctx.answer({"url": found.url, "revoked": revoked}, f"logged out at {found.url}: {what}, and gone from {path}")


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
    _warn_if_open(ctx, url, "password")
    if args.password_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise Invalid("password: there is no terminal to ask at; use --password-stdin or --token-stdin")
    try:
        return getpass.getpass(f"password of {user}: ")
    except EOFError:
        raise Invalid("password: none given; try again") from None


def _warn_if_open(ctx: Context, url: str, what: str) -> None:
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        ctx.out.note(f"{url} is not encrypted: others on the way can read the {what}; use https if you can")


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
            "Print an address and a code: open the one in a browser on any machine, sign in there as always, and type\n"
            "the other. The token is good for 30 days; `hai logout` revokes it. With --user, a name and a password do\n"
            "without a browser; --token-stdin takes a token that you have made on the Hub's page /hub/token."
        ),
        examples=(
            "examples:\n  hai login --url https://hub.example.org\n"
            "  hai login --url https://hub.example.org --user alice\n  hai login --token-stdin < token.txt"
        ),
    ),
    "logout": Command(
        "logout",
        _nothing,
        _logout,
        about="Revoke the token that `hai login` has kept, and remove it here.",
    ),
}
