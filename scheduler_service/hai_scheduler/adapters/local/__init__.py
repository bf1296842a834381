"""The cluster that is this machine: nodes are slots, ranks are processes under `hai_client.rank`."""
