"""Figures of a real platform on this machine: `make bench`, or `PYTHONPATH=tests .venv/bin/python -m bench`.

Figures that depend on the machine stand beside what the bare machine does, as ratios.
"""
