"""The bodies of the REST interface as dataclasses."""
