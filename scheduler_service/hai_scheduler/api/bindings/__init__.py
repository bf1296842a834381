"""What other programs know of the interface, made from its models: OpenAPI, and the types of client and panel."""
