"""The bodies and parameters of the interface as pydantic models.

The OpenAPI document is made from them. Input models refuse unknown keys and name the field, the value and the remedy.
Times are RFC 3339 in UTC, lengths of time are seconds in fields that end in `_s`.
"""
