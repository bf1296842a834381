"""The interfaces between the service and its adapters, each with a contract suite for all adapters (tests/contract)."""
