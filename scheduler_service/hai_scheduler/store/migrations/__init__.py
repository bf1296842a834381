"""Alembic's scripts. A released one is never edited."""
