"""Stands in for what the images of jobs would run: it serves, and ends when it is told to.

GET /end/1 ends it with that status, SIGTERM with 0, whatever it is answering just then; GET
/wait/0.5 is answered after so many seconds. It needs the standard library only.
"""

import http.server
import os
import signal
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers everything with 200."""

    def do_GET(self) -> None:
        """All is well, at once or after a while; or the end."""
        if self.path.startswith("/wait/"):
            time.sleep(float(self.path.rpartition("/")[2]))
        self.send_response(200)
        self.end_headers()
        if self.path.startswith("/end/"):
            self.wfile.flush()
            end(f"asked for {self.path}", int(self.path.rpartition("/")[2]))

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - same
        """Say nothing of requests."""


def end(why: str, status: int) -> None:
    """Say why, and end."""
    sys.stdout.write(f"ends: {why}\n")
    sys.stdout.flush()
    os._exit(status)


def main() -> None:
    """Serve until told to end."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: end("SIGTERM", 0))
    server = http.server.ThreadingHTTPServer(("", int(os.environ.get("PORT", "8000"))), Handler)
    sys.stdout.write("serves\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
