"""What other programs know of the wire, written from its models: the client's dataclasses and the panel's types."""
