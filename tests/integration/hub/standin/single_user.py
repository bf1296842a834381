"""A stand-in for JupyterLab: answers every request with its environment."""

from __future__ import annotations

import http.server
import json
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

address = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"])


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = json.dumps({"environ": dict(os.environ), "argv": sys.argv, "cwd": str(Path.cwd())}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-JupyterHub-Version", "6.1.1")
        self.end_headers()
        self.wfile.write(body)


http.server.ThreadingHTTPServer(("127.0.0.1", address.port or 0), Answers).serve_forever()
