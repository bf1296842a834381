"""A stand-in for helm and kubectl, and what it has installed."""

from __future__ import annotations

#: Answers as Helm does, and notes the words that it was called with.
HELM = """\
#!/bin/sh
echo "$(basename "$0") $*" >>"$HAI_TEST_CALLS"
case "$*" in *" exec "*)
  left=$(cat "$HAI_TEST_CALLS.deaf" 2>/dev/null || echo 0)
  [ "$left" -gt 0 ] || exit 0
  echo $((left - 1)) >"$HAI_TEST_CALLS.deaf"
  echo "status 503: The state database does not answer." >&2
  exit 1 ;;
esac
case "$1 $2" in
  "get manifest") [ -e "$HAI_TEST_CALLS.installed" ] || { echo "Error: release: not found" >&2; exit 1; }
    cat "$HAI_TEST_CALLS.installed" ;;
  "history hai") echo '[{"revision": 2, "status": "superseded"}, {"revision": 3, "status": "deployed"}]' ;;
  "get values") echo "workloads: {namespace: work}"; cat "$HAI_TEST_CALLS.kept" 2>/dev/null || true ;;
  "get notes") echo "NOTES:"; echo "what to do next" ;;
  "upgrade hai") case "$*" in *dry-run*) cat "$HAI_TEST_CALLS.rendered" ;; esac ;;
esac
"""


OLD = """\
kind: ConfigMap
metadata: {name: a}
data: {x: "1"}
---
kind: Secret
metadata: {name: s}
data: {token: b2xk, same: c2FtZQ==}
---
kind: Service
metadata: {name: gone, namespace: other}
"""


NEW = """\
kind: ConfigMap
metadata: {name: a}
data: {x: "2"}
---
kind: Secret
metadata: {name: s}
data: {token: bmV3, same: c2FtZQ==}
---
kind: Service
metadata: {name: new}
"""
