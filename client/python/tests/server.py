"""A server on this machine that answers as an ICL and as a chain do."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Callable, Optional


def serve(test: Any, get: Callable[[str, Optional[str]], Any], post: Callable[[str, Any], Any]) -> str:
    """Runs a server until the test ends. `get` takes path and token, `post` path and JSON. None is a 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer(get(self.path, self.headers.get("authorization")))

        def do_POST(self):
            self.answer(post(self.path, json.loads(self.rfile.read(int(self.headers["content-length"])))))

        def answer(self, value):
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(404 if value is None else 200)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)
    return f"http://127.0.0.1:{server.server_port}"
