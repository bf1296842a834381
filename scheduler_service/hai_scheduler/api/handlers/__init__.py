"""The endpoints: each parses a request, calls one use case and encodes the answer."""
