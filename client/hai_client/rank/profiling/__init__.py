"""Recordings of what a rank does, as its supervisor carries them out."""
