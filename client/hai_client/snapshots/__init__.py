"""Snapshots of code: a folder as it is at one moment, stored by content, in which all runs of a task start.

`manifest` is the format that the client writes and the service reads; the other modules make a snapshot of a folder.
"""
