"""Recordings of what running tasks do: how they are ordered, and what a trace says."""
