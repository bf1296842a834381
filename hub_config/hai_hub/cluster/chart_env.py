"""Values, addresses and tokens that the chart gives to the Hub's process."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hai_client.secret_files import address_of, secret_of

#: Environment variables that a scheduler in the Hub's pod gets from the Hub's environment.
SCHEDULER_VARIABLES: Final = (
    "HAI_CHART_VERSION",
    "HAI_DB_PASSWORD_FILE",
    "HAI_DB_URL",
    "HAI_DB_URL_FILE",
    "HAI_REDIS_PASSWORD_FILE",
    "HAI_REDIS_URL",
    "HAI_REDIS_URL_FILE",
    "HAI_SECRETS_KEYS",
    "HAI_SECRETS_KEYS_FILE",
    "HAI_SERVICE_SECRET",
    "HAI_SERVICE_SECRET_FILE",
    "HOME",
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "PYTHONUNBUFFERED",
    "SSL_CERT_FILE",
    "TZ",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartEnv:
    """Values, addresses and tokens that a pod of the Hub gets from the chart."""

    values: Mapping[str, Any]  #: The part of the chart's values that the Hub reads.
    release: str  #: Name of the release.
    namespace: str  #: Namespace of users' servers and training pods.
    version: str  #: Version of the chart's images.
    hub_url: str  #: URL of the Hub as other pods reach it.
    proxy_api_url: str  #: URL of the proxy's interface for routes.
    public_url: str  #: URL of the proxy as users' servers reach it, without a path.
    service_url: str  #: URL of the scheduler as the proxy reaches it, without a path.
    api_url: str  #: URL of the scheduler's REST interface as users' servers reach it.
    db_url: str = field(repr=False)  #: URL of the Hub's database, with its password.
    service_token: str = field(repr=False)  #: Token of the scheduler service.
    spawner_token_file: str  #: File with the token that the spawner sends to the scheduler.
    metrics_token: str = field(repr=False)  #: Token that Prometheus sends to read metrics.
    #: Token for the proxy's interface for routes; empty: JupyterHub finds or makes one.
    proxy_token: str = field(default="", repr=False)
    #: Key that signs cookies, as hexadecimal digits; empty: JupyterHub finds or makes one.
    cookie_secret: str = field(default="", repr=False)
    #: Keys for encrypted parts of the Hub's database, the newest first, separated by semicolons.
    crypt_key: str = field(default="", repr=False)
    #: The secret of `logins.existingSecret`: a client's, or a password; empty: there is none.
    login_secret: str = field(default="", repr=False)
    #: Configuration file of a scheduler that the Hub starts; None: it is a Deployment of its own.
    scheduler_config: str | None = None
    #: The environment of a scheduler that the Hub starts.
    scheduler_environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def value(self, path: str) -> Any:
        """Return the value of a name with dots; None if it was written as null: Helm leaves such a value out."""
        *tables, last = path.split(".")
        found: Any = self.values
        for name in tables:
            found = found[name]
        return found.get(last)

    @classmethod
    def of(cls, environ: Mapping[str, str], values: Mapping[str, Any]) -> ChartEnv:
        """Read the variables and values that the chart sets. Secrets may be in files (hai_client.secret_files).

        Raises:
            ValueError: A variable is missing.
            Invalid: A file cannot be read.
        """

        def there(name: str) -> str:
            if not (text := environ.get(name, "")):
                message = f"{name} is not set: this configuration is for the Hub's pod of the HAI chart, which sets it"
                raise ValueError(message)
            return text

        def secret(name: str) -> str:
            return secret_of(name, environ) or there(name)

        own = {name: environ[name] for name in SCHEDULER_VARIABLES if environ.get(name)}
        return cls(
            values=values,
            release=there("HAI_RELEASE"),
            namespace=there("HAI_WORKLOADS_NAMESPACE"),
            version=there("HAI_CHART_VERSION"),
            hub_url=there("HAI_HUB_URL"),
            proxy_api_url=there("HAI_PROXY_API_URL"),
            public_url=there("HAI_PUBLIC_URL"),
            service_url=there("HAI_SERVICE_URL"),
            api_url=there("HAI_API_URL"),
            db_url=address_of("HAI_HUB_DB_URL", "HAI_HUB_DB_PASSWORD", environ) or there("HAI_HUB_DB_URL"),
            service_token=secret("HAI_SERVICE_TOKEN"),
            spawner_token_file=there("HAI_SPAWNER_TOKEN_FILE"),
            metrics_token=secret("HAI_METRICS_TOKEN"),
            proxy_token=secret_of("CONFIGPROXY_AUTH_TOKEN", environ),
            cookie_secret=secret_of("JPY_COOKIE_SECRET", environ),
            crypt_key=secret_of("JUPYTERHUB_CRYPT_KEY", environ),
            login_secret=_where_it_is_there("HAI_LOGIN_SECRET", environ),
            scheduler_config=environ.get("HAI_SCHEDULER_CONFIG") or None,
            scheduler_environment=own,
        )

    @classmethod
    def of_process(cls) -> ChartEnv:
        """Read this process's environment and the values file that `HAI_CHART_VALUES` names.

        Raises:
            ValueError: A variable is missing, or the file is not JSON.
            Invalid: A file with a secret cannot be read.
            OSError: The values file cannot be read.
        """
        if not (name := os.environ.get("HAI_CHART_VALUES", "")):
            raise ValueError("HAI_CHART_VALUES is not set: this configuration is for the Hub's pod of the HAI chart")
        return cls.of(os.environ, json.loads(Path(name).read_text(encoding="utf-8")))


def _where_it_is_there(name: str, environ: Mapping[str, str]) -> str:
    """Return a secret; empty if its file is not there: what needs it says which key of which Secret is missing."""
    file = environ.get(f"{name}_FILE", "")
    return "" if file and not Path(file).exists() else secret_of(name, environ)
