"""`Client`: the REST interface of the platform as typed methods."""

from __future__ import annotations

from collections.abc import Callable

from hai_client import settings
from hai_client.calls.cluster import ClusterCalls
from hai_client.calls.fabrics import FabricCalls
from hai_client.calls.feed import FeedCalls
from hai_client.calls.metrics import MetricsCalls
from hai_client.calls.notifications import NotificationCalls
from hai_client.calls.orphans import OrphanCalls
from hai_client.calls.people import PeopleCalls
from hai_client.calls.profiles import RecordingCalls
from hai_client.calls.quota import QuotaCalls
from hai_client.calls.reports import ReportCalls
from hai_client.calls.secrets import SecretCalls
from hai_client.calls.snapshots import SnapshotCalls
from hai_client.calls.storage import StorageCalls
from hai_client.calls.tasks import TaskCalls
from hai_client.errors import NotLoggedIn, Unavailable
from hai_client.http import Transport


class Client(
    TaskCalls,
    FeedCalls,
    ClusterCalls,
    QuotaCalls,
    StorageCalls,
    FabricCalls,
    SnapshotCalls,
    OrphanCalls,
    PeopleCalls,
    MetricsCalls,
    ReportCalls,
    RecordingCalls,
    NotificationCalls,
    SecretCalls,
):
    """A connection to a platform, with one user's rights.

    Tasks may be named by id or by name; a name is the caller's latest task of that name. Every method raises
    the errors of `hai_client.errors`: `NotLoggedIn`, `Forbidden`, `NotFound`, `Invalid`, `Conflict`,
    `QuotaExceeded`, `Unavailable`. While the platform restarts, a call is repeated for half a minute at most, if it
    never reached the service, is a submission, or can be repeated safely. `Transport` sets how long. A call that the
    platform refuses because the caller sends too many requests at once (429) is repeated for two minutes.

    Args:
        url: The Hub's address; else `HAI_URL`, else the file that `hai login` wrote.
        token: A token of the Hub; else `HAI_TOKEN`, else `JUPYTERHUB_API_TOKEN` inside a server of the Hub,
            else the token in the file.
        transport: Used instead of a transport made from the address and token.
    """

    def __init__(self, url: str | None = None, token: str | None = None, *, transport: Transport | None = None) -> None:
        if transport is None:
            found = settings.load(url=url, token=token)
            if found.token is None:
                raise NotLoggedIn(f"token: none for {found.url}; run `hai login --url {found.url}` or set HAI_TOKEN")
            transport = Transport(found.api_url, found.token)
        super().__init__(transport)

    @classmethod
    def of(
        cls,
        found: settings.Settings,
        *,
        waiting: Callable[[Unavailable, float], None] | None = None,
        language: str = "",
        heard: Callable[[str], None] | None = None,
    ) -> Client:
        """Return a client for settings that were loaded before; without a token only `health` works.

        Args:
            found: The settings.
            waiting: Called before each wait for a platform that restarts, with the reason and the seconds waited so
                far.
            language: The language of what the service says, such as `zh-CN`; empty: English.
            heard: Called with the version that an answer says it is from, as it was sent.
        """
        transport = Transport(found.api_url, found.token, waiting=waiting, language=language, heard=heard)
        return cls(transport=transport)

    def __repr__(self) -> str:
        return f"Client({self._http.base!r})"
