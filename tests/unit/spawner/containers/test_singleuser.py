"""JupyterLab servers as the spawner on one machine starts them."""

from __future__ import annotations

import subprocess
import sys


def test_a_server_starts_without_the_checks_of_addresses() -> None:
    code = (
        "import sys\n"
        "from hai_spawner.containers.singleuser import main\n"
        "sys.argv = ['jupyterhub-singleuser', '--version']\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    print('jupyter_events' in sys.modules, 'lark' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    version, said = done.stdout.splitlines()
    assert version[0].isdigit()
    assert said == "True False"
