"""The supervisor around the command of one rank: `python -m hai_client.rank FOLDER`.

The supervisor starts the command, stamps and rotates its log, hands notices to it and reports from it. It ends with the
true exit status, and leaves no process behind. Short tasks are started by the hundreds: no module here imports what
costs milliseconds (pathlib, dataclasses, typing, subprocess) before it is needed.
"""
