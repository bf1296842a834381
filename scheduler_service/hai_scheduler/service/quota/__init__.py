"""Quota: the default of a new platform, changes by users themselves, and the check of a task's size."""
