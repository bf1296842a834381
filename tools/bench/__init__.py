"""Figures of a real platform on this machine: `make bench`, or `PYTHONPATH=tools:tests .venv/bin/python -m bench`.

Figures that depend on the machine are shown as ratios to the same work without the platform.
"""
