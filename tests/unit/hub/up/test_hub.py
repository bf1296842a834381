"""JupyterHub as `hai up` starts it."""

from __future__ import annotations

import subprocess
import sys

from hai_hub.up.hub import LEFT_OUT


def test_jupyterhub_starts_without_what_takes_half_of_its_start() -> None:
    code = (
        "import sys\n"
        "from hai_hub.up.hub import main\n"
        "sys.argv = ['jupyterhub', '--version']\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    import jsonschema\n"
        f"    print(sys.modules[{LEFT_OUT!r}], 'lark' in sys.modules, 'uri' in jsonschema.FormatChecker().checkers)\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    version, said = done.stdout.splitlines()
    assert version.startswith("6.")
    assert said == "None False True", "other checks of addresses are still made"


def test_what_is_left_out_is_there_and_used_otherwise() -> None:
    """Else the module that leaves it out is of no use any more."""
    code = f"import sys, jupyterhub.app; print({LEFT_OUT!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
