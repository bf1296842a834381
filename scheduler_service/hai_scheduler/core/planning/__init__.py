"""The plan: what is decided for every task of a snapshot, and what is remembered from plan to plan."""
