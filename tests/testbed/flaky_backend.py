"""A backend that fails at first: each path is answered with 200 from the third request on."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit


@contextlib.contextmanager
def serving() -> Iterator[int]:
    """Runs one; yields its port. `?status=N` says how it fails; 0: it ends the connection."""
    requests: Counter[str] = Counter()

    class Flaky(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            requests[self.path] += 1
            status = parse_qs(urlsplit(self.path).query).get("status", ["503"])[0]
            is_well = requests[self.path] >= 3
            if not is_well and status == "0":
                self.close_connection = True
                return
            self.send_response(200 if is_well else int(status))
            self.send_header("content-length", "0")
            self.send_header("x-flaky", "yes")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Flaky) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
