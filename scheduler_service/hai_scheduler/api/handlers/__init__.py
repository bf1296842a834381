"""The endpoints: each parses, calls one use case and encodes."""
