"""JupyterHub as `hai up` starts it."""

from __future__ import annotations

import subprocess
import sys

from hai_client.lean_imports import ADDRESS_CHECKS


def test_jupyterhub_starts_without_what_takes_half_of_its_start() -> None:
    code = (
        "import sys\n"
        "from hai_hub.up.hub import main\n"
        "sys.argv = ['jupyterhub', '--version']\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    import jsonschema\n"
        "    checkers = jsonschema.FormatChecker().checkers\n"
        f"    print(sys.modules[{ADDRESS_CHECKS!r}], 'lark' in sys.modules, 'uri' in checkers)\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    version, said = done.stdout.splitlines()
    assert version.startswith("6.")
    assert said == "None False True", "other checks of addresses are still made"
