"""Quota: what everybody may use at first, what users change themselves, what a user may ever hold."""
