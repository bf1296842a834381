"""The variables by which programs find a proxy, and the authorities whose certificates they trust."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Variables that name a proxy, and those that are read together; programs read them in capital or in small letters.
_NAMES_A_PROXY = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_WITHOUT = "NO_PROXY"
PROXY_VARIABLES = (*_NAMES_A_PROXY, _WITHOUT)
#: Variables that name a file of authorities, for OpenSSL and Python, requests, curl, pip, git, Node and Amazon's tools.
#: The file replaces those that a program brings.
AUTHORITY_VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "AWS_CA_BUNDLE",
)
#: Where all pods see the file of authorities.
AUTHORITIES_FOLDER = "/etc/hai/authorities"
AUTHORITIES_KEY = "ca.crt"
#: What no proxy can reach, on any machine and in any cluster; and where clouds give credentials, a proxy its own.
_OWN = ("localhost", "127.0.0.1", "::1", "169.254.169.254", ".svc", ".cluster.local")


def proxy_variables(address: str, without: Iterable[str]) -> dict[str, str]:
    """Return the variables of a proxy.

    Args:
        address: The address of the proxy.
        without: Hosts, and suffixes that begin with a dot, that are reached without it.
    """
    hosts = ",".join(dict.fromkeys((*_OWN, *without)))
    return paired({"HTTP_PROXY": address, "HTTPS_PROXY": address, _WITHOUT: hosts})


def authority_variables() -> dict[str, str]:
    """Return the variables of the file of authorities."""
    return dict.fromkeys(AUTHORITY_VARIABLES, f"{AUTHORITIES_FOLDER}/{AUTHORITIES_KEY}")


def authorities_volume(config_map: str, secret: str, key: str) -> dict[str, object]:
    """Return the source of the volume with the file of authorities; empty, if neither of the two is named."""
    items = [{"key": key, "path": AUTHORITIES_KEY}]
    if config_map:
        return {"configMap": {"name": config_map, "items": items}}
    if secret:
        # Everybody's to read: certificates are public, whatever they are kept in.
        return {"secret": {"secretName": secret, "defaultMode": 0o444, "items": items}}
    return {}


def paired(given: Mapping[str, str]) -> dict[str, str]:
    """Return variables with those of proxies in capital and in small letters, whichever of the two is given.

    Else a program would read the one that was not changed.
    """
    found = dict(given)
    for name in PROXY_VARIABLES:
        for one, other in ((name, name.lower()), (name.lower(), name)):
            if one in given and other not in given:
                found[other] = given[one]
    return found


def completed(env: Mapping[str, str], hosts: Iterable[str]) -> dict[str, str]:
    """Return the variables of hosts that are reached without the proxy, with these hosts among them.

    Args:
        env: Variables of a process.
        hosts: Hosts that no proxy may see.

    Returns:
        Only what is to be changed: nothing, if there is no proxy.
    """
    if not any(env.get(name) or env.get(name.lower()) for name in _NAMES_A_PROXY):
        return {}
    changed = {}
    for name in (_WITHOUT, _WITHOUT.lower()):
        there = [one for one in env.get(name, "").replace(",", " ").split() if one]
        if "*" not in there:
            changed[name] = ",".join(dict.fromkeys((*there, *(host for host in hosts if host))))
    return changed


def host_of(url: str) -> str:
    """Return the host that a URL names, as variables of proxies have it: without port, and without brackets."""
    rest = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return rest[1:].partition("]")[0] if rest.startswith("[") else rest.partition(":")[0]
