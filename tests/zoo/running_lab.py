"""`ecm lab` as a process of its own, for tests that ask it over the network."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def running_lab() -> Iterator[int]:
    """The port of a server that answers; it is ended afterwards."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    hidden = ("PYTEST", "NICEGUI")  # the server must not think that it is under test
    clean = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    command = [sys.executable, "-m", "zoo", "lab", "--no-browser", "--port", str(port)]
    with subprocess.Popen(command, env=clean, stdout=subprocess.DEVNULL) as server:
        try:
            for _ in range(600):
                if server.poll() is not None:
                    raise RuntimeError(f"ecm lab ended with exit code {server.returncode}")
                try:
                    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/")
                    break
                except urllib.error.URLError:
                    time.sleep(0.2)
            yield port
        finally:
            server.terminate()
            server.wait(30)
