"""The REST interface: handlers parse, authorise, call one use case and encode."""
