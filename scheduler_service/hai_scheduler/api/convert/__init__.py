"""Converts values of the core into models of the wire, and back."""
