#!/bin/bash
# Three stages, one after the other, as scripts of users are: without `set -e`.
python stage.py 1
python stage.py 2
python stage.py 3
