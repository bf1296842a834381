"""Kill everything at random while tasks run, and hold what the ranks themselves wrote down against what was promised.

    make chaos ARGS="--minutes 60 --on sqlite --seed 42"

`rank` is what a task runs, `load` submits and follows, `strikes` kill, `platforms` are what is struck, `records` is
what was written down, `invariants` judges it, `report` prints it. A new strike is a function in `strikes`; a new check
is one in `invariants`, with forged records in its test that it must refuse.
"""
