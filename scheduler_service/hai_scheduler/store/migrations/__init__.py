"""Alembic's scripts, from the first state on. One that has been released is never edited, and there is no way back."""
