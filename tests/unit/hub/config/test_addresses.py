"""What a file of overrides says of addresses: each setting is respected, or refused by its name with the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from hai_hub.config.addresses import READ, AddressError, HubAddresses, addresses_of


@pytest.mark.parametrize(
    ("hub", "found"),
    [
        ({}, HubAddresses()),
        ({"db_url": "sqlite://", "proxy_class": "configurable-http-proxy"}, HubAddresses()),
        *(({"base_url": text}, HubAddresses(base_url="/lab/")) for text in ("/lab/", "/lab", "lab")),
        ({"base_url": "/"}, HubAddresses()),
        ({"base_url": "/a/b.c/"}, HubAddresses(base_url="/a/b.c/")),
        ({"bind_url": "http://127.0.0.1:8140"}, HubAddresses(ip="127.0.0.1", port=8140)),
        ({"bind_url": "http://127.0.0.1:8140/lab/"}, HubAddresses(ip="127.0.0.1", port=8140, base_url="/lab/")),
        ({"bind_url": "http://[::1]:8140"}, HubAddresses(ip="::1", port=8140)),
        ({"bind_url": "http://:8140"}, HubAddresses(ip="", port=8140)),
        ({"bind_url": "http://:8140", "base_url": "/lab"}, HubAddresses(ip="", port=8140, base_url="/lab/")),
        ({"bind_url": "http://h:1/lab", "base_url": "lab", "port": 1}, HubAddresses(ip="h", port=1, base_url="/lab/")),
        ({"ip": "10.0.0.1", "port": 9000}, HubAddresses(ip="10.0.0.1", port=9000)),
        ({"hub_port": 9001}, HubAddresses(hub_port=9001)),
        ({"hub_ip": "0.0.0.0"}, HubAddresses(hub_ip="0.0.0.0")),
        ({"hub_bind_url": "http://10.0.0.1:9001"}, HubAddresses(hub_ip="10.0.0.1", hub_port=9001)),
        ({"services": [{"name": "culler"}], "internal_ssl": False}, HubAddresses()),
    ],
)  # fmt: skip
def test_what_a_file_sets_is_respected(hub: dict[str, Any], found: HubAddresses) -> None:
    assert addresses_of({"JupyterHub": hub}) == found


@pytest.mark.parametrize(
    ("hub", "says"),
    [
        ({"base_url": "/a b/"}, "base_url = '/a b/': write a text without spaces"),
        ({"base_url": 7}, "base_url = 7: write a text"),
        ({"base_url": "/../x"}, "base_url = '/../x': write a path such as /lab/"),
        ({"base_url": "/%2e/"}, "base_url = '/%2e/': write a path such as /lab/"),
        ({"base_url": "/hub/"}, "no part `hub`"),
        ({"base_url": "/x/user/"}, "no part `hub`, `user` or `services`"),
        ({"bind_url": "https://h:8443"}, "bind_url = 'https://h:8443': HTTPS is an option of `hai up`"),
        ({"bind_url": "http+unix://%2Frun%2Fhub.sock"}, "write for example http://127.0.0.1:8000/lab/"),
        ({"bind_url": "http://h:port"}, "write for example http://127.0.0.1:8000/lab/"),
        ({"bind_url": "http://a:b@h:80"}, "write for example"),
        ({"bind_url": "http://h:1/a", "base_url": "/b"}, "base_url = '/b': contradicts JupyterHub.bind_url = 'http://h:1/a'"),
        ({"bind_url": "http://h:1", "port": 2}, "port = 2: contradicts JupyterHub.bind_url"),
        ({"hub_bind_url": "http://h:1", "hub_port": 2}, "hub_port = 2: contradicts JupyterHub.hub_bind_url"),
        ({"port": 0}, "port = 0: write a whole number from 1 to 65535"),
        ({"hub_port": "9001"}, "hub_port = '9001': write a whole number"),
        ({"ssl_cert": "/c"}, "ssl_cert = '/c': HTTPS is an option of `hai up`: --certificate FILE --key FILE"),
        ({"ssl_key": "/k"}, "ssl_key = '/k'"),
        ({"internal_ssl": True}, "internal_ssl = True: .*; leave it out"),
        ({"subdomain_host": "https://h"}, "subdomain_host = 'https://h': .*; leave it out"),
        ({"services": [{"name": "hai"}]}, "services = 'hai': is the name of a service of HAI's own; choose another"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_its_name_and_with_the_remedy(hub: dict[str, Any], says: str) -> None:
    with pytest.raises(AddressError, match=f"^JupyterHub[.].*{says}"):
        addresses_of({"JupyterHub": hub})


def test_all_that_is_read_here_can_be_set_in_the_file() -> None:
    from jupyterhub.app import JupyterHub

    traits = JupyterHub.class_traits(config=True)
    assert set(traits) >= READ
