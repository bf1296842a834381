"""The bodies and parameters of the interface as pydantic models."""
