"""Writes what other programs know of the interface from its models: OpenAPI, and the types of client and panel."""
