"""A stand-in for the Hugging Face Hub on this machine: enough of its interface to push a folder and to fetch it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

COMMIT = "0" * 40


@contextmanager
def stand_in() -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yields the address of the server and the files that were pushed to it, by their path."""
    files: dict[str, bytes] = {}

    class Hub(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Silent."""

        def do_POST(self) -> None:
            body = self._body()
            if self.path.endswith("/repos/create"):
                wanted = json.loads(body)
                name = f"{wanted.get('organization') or 'someone'}/{wanted['name'].split('/')[-1]}"
                self._json({"url": f"http://{self.headers['Host']}/{name}"})
            elif self.path.endswith("/validate-yaml"):
                self._json({"errors": [], "warnings": []})
            elif "/preupload/" in self.path:
                named = [one["path"] for one in json.loads(body)["files"]]
                modes = [{"path": name, "uploadMode": "regular", "shouldIgnore": False} for name in named]
                self._json({"files": modes})
            elif "/commit/" in self.path:
                for line in map(json.loads, body.splitlines()):
                    if line["key"] == "file":
                        files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                self._json(
                    {"commitUrl": f"http://{self.headers['Host']}/someone/model/commit/{COMMIT}", "commitOid": COMMIT}
                )
            else:
                self._json({}, 404)

        def do_GET(self) -> None:
            self._answer(True)

        def do_HEAD(self) -> None:
            self._answer(False)

        def _answer(self, whole: bool) -> None:
            if "/resolve/" in self.path:
                name = unquote(self.path.split("/resolve/")[1].split("/", 1)[1].split("?")[0])
                found = files.get(name)
                if found is None:
                    self._json({}, 404)
                    return
                self.send_response(200)
                self.send_header("X-Repo-Commit", COMMIT)
                self.send_header("ETag", f'"{abs(hash(found))}"')
                self.send_header("Content-Length", str(len(found)))
                self.end_headers()
                if whole:
                    self.wfile.write(found)
            elif "/tree/" in self.path:
                self._json([{"type": "file", "path": name, "size": len(files[name]), "oid": COMMIT} for name in files])
            elif self.path.startswith("/api/models/") and files:
                siblings = [{"rfilename": name} for name in files]
                self._json({"id": "someone/model", "sha": COMMIT, "siblings": siblings, "tags": [], "private": False})
            else:
                self._json({}, 404)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") == "chunked":
                parts = []
                while size := int(self.rfile.readline(), 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def _json(self, data: Any, status: int = 200) -> None:
            content = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", files
    finally:
        server.shutdown()
