"""The program that serves one folder: TensorBoard on a Unix socket. It runs as a script, and ends with its parent.

    python serve.py FOLDER SOCKET

A port would be open to every user of the machine, and so would that of TensorBoard's fast reader: it is left out.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def main(folder: str, socket: str) -> int:
    """Serve the folder until the parent, which holds standard input open, has ended."""
    from tensorboard import main_lib, program

    class SocketServer(program.WerkzeugServer):  # type: ignore[misc, unused-ignore]
        """TensorBoard's server, whose address has no port."""

        def get_url(self) -> str:
            return f"unix://{socket}"

    main_lib.global_init()
    board: Any = program.TensorBoard(server_class=SocketServer)
    words = ["--logdir", folder, "--host", f"unix://{socket}", "--port", "0", "--load_fast", "false"]
    board.configure(argv=("tensorboard", *words))
    # Unlike `main`, this writes no file for all users of the machine about where it is.
    board.launch()
    while os.read(0, 4096):
        pass
    return 0


if __name__ == "__main__":
    # Its threads need not end by themselves.
    status = main(sys.argv[1], sys.argv[2])
    sys.stderr.flush()
    os._exit(status)
