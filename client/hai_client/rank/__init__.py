"""The supervisor around the command of one rank: `python -m hai_client.rank FOLDER`.

It starts the command, stamps and rotates its log, brings notices to it and reports from it, and ends with a true
status and no process left. Trivial tasks are started by the hundreds: nothing here imports what costs
milliseconds (pathlib, dataclasses, typing, subprocess) before it is needed.
"""
