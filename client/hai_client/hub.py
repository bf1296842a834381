"""The `hai` command's calls to the Hub itself: tokens, users, passwords."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from hai_client.backports import dataclass
from hai_client.codec import decode
from hai_client.errors import Conflict, Forbidden, HaiError, Invalid, NotFound, NotLoggedIn, Unavailable
from hai_client.http import Transport
from hai_client.settings import Settings

ENTRY = "access:services!service=hai"
#: Seconds for which a login is good.
LOGIN_S = 30 * 86_400
#: Sets of scopes that a login tries, the largest first: the Hub refuses a scope that the user does not hold.
LOGIN_SCOPES: tuple[tuple[str, ...], ...] = (
    ("custom:hai:tasks:write", ENTRY, "custom:hai:admin", "admin:users", "tokens"),
    ("custom:hai:tasks:write", ENTRY, "custom:hai:admin"),
    ("custom:hai:tasks:write", ENTRY),
    ("custom:hai:tasks:read", ENTRY),
)
TASK_SCOPES = ("custom:hai:tasks:write", ENTRY)
_PAGINATED = "application/jupyterhub-pagination+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubUser:
    """A user of the Hub."""

    name: str
    admin: bool = False
    groups: tuple[str, ...] = ()
    last_activity: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HubToken:
    """A new token; only this answer has its text."""

    token: str = field(repr=False)
    scopes: tuple[str, ...] = ()
    user: str = ""  #: Whose it is, as far as the answer says it.
    expires_at: datetime | None = None  #: None: it has no end.


@dataclass(frozen=True, slots=True, kw_only=True)
class HubPassword:
    """A new password; only this answer has its text."""

    name: str
    password: str = field(repr=False)
    warning: str | None = None  #: A warning for the admin who adds users, about how this platform is set up.


@dataclass(frozen=True, slots=True, kw_only=True)
class _OwnToken:
    """What a token says of itself."""

    expires_at: datetime | None = None


class Hub:
    """The Hub's REST interface, with one user's rights.

    Args:
        settings: The address and the token; `login` needs no token.
        transport: Used instead of a transport made from the settings.
        waiting: Called before each wait for a Hub that restarts, with the reason and the seconds waited so far.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        transport: Transport | None = None,
        waiting: Callable[[Unavailable, float], None] | None = None,
    ) -> None:
        self._url = settings.url
        self._http = transport or Transport(settings.hub_api_url, settings.token, waiting=waiting)
        #: The endpoints that a HAI hub adds to JupyterHub's own.
        self._site = transport or Transport(f"{settings.url}/hub/hai", settings.token, waiting=waiting)

    def login(self, user: str, password: str) -> HubToken:
        """Return a token for a name and password, with as many of the wanted scopes as the user holds.

        Raises:
            NotLoggedIn: The Hub does not accept the name and password.
            Forbidden: The user may not use HAI at all.
        """
        credentials = {"username": user, "password": password}
        for scopes in LOGIN_SCOPES:
            try:
                return self._token(user, note="hai login", scopes=scopes, auth=credentials, lasts_s=LOGIN_S)
            except Forbidden:  # noqa: PERF203 -- two tries
                raise NotLoggedIn(
                    f"user: {self._url} does not accept {user!r} with this password; after several failures it "
                    "accepts none for up to a minute, even the right one: wait, then try again. If you have lost your "
                    "password, ask an admin for a new one; if you have never signed in there, do so once in a browser"
                ) from None
            except Invalid:
                continue
        raise Forbidden(f"user: {user!r} has no right to use HAI at {self._url}; an admin gives the role")

    def make_token(self, user: str, *, note: str) -> HubToken:
        """Make a token for a user and return it; it may submit and control tasks."""
        return self._token(user, note=note, scopes=TASK_SCOPES)

    def add_user(self, name: str, *, admin: bool = False) -> HubUser:
        """Add a user to the Hub and return the user, with the name in the Hub's own form.

        Raises:
            Conflict: There is a user of that name, or there was one, who is archived.
        """
        try:
            # Only the plural call checks the name and brings it into the form that the Hub's login gives.
            made = self._http.call("POST", "/users", body={"usernames": [name], "admin": admin})
        except Conflict as error:
            if "archived" in error.message:
                raise
            raise Conflict(f"user: {name!r} exists already; `hai admin user list` shows everyone") from None
        except Forbidden:
            what = "make somebody an admin of JupyterHub, which --admin does," if admin else "add users"
            raise self._no_right(what, whom="an admin of JupyterHub" if admin else "an admin") from None
        except Invalid as error:
            if "invalid username" not in error.message.lower():
                raise
            raise Invalid(
                f"name: {name!r} is not a user name for this Hub; it may hold no '/', be neither '.' nor '..', neither "
                "begin nor end with a space, and must fit the pattern of the Hub's way of signing in, if that has one"
            ) from None
        return decode(HubUser, made[0])

    def make_password(self, name: str) -> HubPassword:
        """Set a new password for a user and return it; the old password is no longer valid.

        Raises:
            NotFound: There is no such user, or the Hub keeps no passwords because users sign in in another way.
            Forbidden: The caller is not an admin.
            Invalid: The user is the local admin, whose password `hai up` keeps.
        """
        try:
            made: Any = self._site.call("POST", f"/users/{_quoted(name)}/password")
        except Forbidden:
            raise self._no_right("make passwords") from None
        return decode(HubPassword, made)

    def users(self) -> Iterator[HubUser]:
        """Yield all users; pages are fetched as needed."""
        offset: int | None = 0
        while offset is not None:
            query = {"offset": offset, "limit": 200}
            try:
                page: Any = self._http.call("GET", "/users", query=query, headers={"Accept": _PAGINATED})
            except Forbidden:
                raise self._no_right("list users") from None
            if not isinstance(page, dict):
                page = {"items": page}
            for item in page.get("items") or ():
                yield decode(HubUser, item)
            following = (page.get("_pagination") or {}).get("next") or {}
            offset = following.get("offset")

    def token_end(self) -> datetime | None:
        """Return until when this token is good; None: it has no end, or the Hub does not say.

        Raises:
            HaiError: The Hub gives no answer, or does not know the token.
        """
        try:
            found: Any = self._site.call("GET", "/token")
        except NotFound:
            return None
        return decode(_OwnToken, found).expires_at

    def revoke(self) -> None:
        """Revoke this token.

        Raises:
            HaiError: The Hub gives no answer, or does not know the token.
        """
        self._site.call("DELETE", "/token")

    def _token(
        self,
        user: str,
        *,
        note: str,
        scopes: Sequence[str],
        auth: dict[str, str] | None = None,
        lasts_s: int | None = None,
    ) -> HubToken:
        body: dict[str, Any] = {"note": note, "scopes": list(scopes)}
        if lasts_s is not None:
            body["expires_in"] = lasts_s
        if auth is not None:
            body["auth"] = auth
        try:
            return decode(HubToken, self._http.call("POST", f"/users/{_quoted(user)}/tokens", body=body))
        except Invalid as error:
            if lasts_s is None or "expires_in" not in error.message:
                raise
            # The Hub allows less (JupyterHub.token_expires_in_max_seconds), and gives that where nothing is asked for.
            return self._token(user, note=note, scopes=scopes, auth=auth)
        except NotFound as error:
            raise HaiError(f"{self._url} has no Hub that gives tokens ({error.message})") from None

    def _no_right(self, what: str, *, whom: str = "an admin") -> Forbidden:
        return Forbidden(f"token: yours does not allow you to {what} at {self._url}; run `hai login` as {whom}")


def _quoted(name: str) -> str:
    if not name.strip("."):
        raise Invalid(f"user: {name!r} is not a user name")
    return quote(name, safe="", errors="replace")
