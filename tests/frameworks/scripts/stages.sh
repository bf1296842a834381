#!/bin/bash
# Three stages, one after the other, as scripts of users are: without `set -e`.
here=$(dirname "$0")
python "$here/stage.py" 1
python "$here/stage.py" 2
python "$here/stage.py" 3
