"""A day of requests in ten minutes: a live explorer on this machine, good and bad requests as fast as they go.

``python tools/soak.py [--seconds N] [--rate N]``. The server is a process of its own; its memory, threads and open
files are read from /proc once it is warm, and again at the end. The exit code is 0 if every good request succeeded,
no answer was a fault of the server, and nothing was left over. Loopback only.
"""

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PATHS = [str(ROOT / "src"), str(ROOT / "tests")]
SERVER = """
import sys
from hardening.asking import Abilities, small_page
from prismap.page import serve
serve(small_page(), compute=Abilities(), folder=sys.argv[1], open_browser=False,
      announce=lambda address: print(address, flush=True))
"""
CLIENTS = 4
#: What a server may have more at the end than when it was warm: jobs it remembers, and their threads.
MORE = {"kilobytes": 20_000, "threads": 8, "descriptors": 8}


def left_over(pid):
    """Resident memory, threads and open files of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    numbers = {name: int(re.search(rf"{name}:\s+(\d+)", status)[1]) for name in ("VmRSS", "Threads")}
    return {
        "kilobytes": numbers["VmRSS"],
        "threads": numbers["Threads"],
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
    }


class Browser(threading.Thread):
    """One client: every tenth request is good and must succeed; the others are those of the request fuzzer."""

    def __init__(self, number, port, token, until, rate):
        super().__init__()
        self.number, self.port, self.token, self.until, self.pause = number, port, token, until, CLIENTS / rate
        self.answers, self.wrong = Counter(), []

    def run(self):
        from hardening.asking import ANSWERS, request_of

        connection, case, due = None, self.number, time.monotonic()
        while time.monotonic() < self.until:
            good = case // CLIENTS % 10 == 0
            method, path, headers, body = ("GET", "/api/page", {}, b"") if good else request_of(case, self.token)
            own = {"X-Prismap-Token": self.token, "Origin": f"http://127.0.0.1:{self.port}"}
            headers = {name: value.replace("8123", str(self.port)) for name, value in (own | headers).items()}
            if connection is None or case % 50 == 0:
                if connection is not None:
                    connection.close()
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            try:
                connection.request(method, path, body=body, headers=headers)
                answer = connection.getresponse()
                answer.read()
                status = answer.status
            except (OSError, http.client.HTTPException, UnicodeError, ValueError) as error:
                connection.close()
                connection, status = None, type(error).__name__
            self.answers[status] += 1
            if (good and status != 200) or (isinstance(status, int) and status not in ANSWERS):
                self.wrong.append(f"{method} {path}: {status}")
            case += CLIENTS
            due = max(due + self.pause, time.monotonic() - 1)
            time.sleep(max(due - time.monotonic(), 0))
        if connection is not None:
            connection.close()


def ask(port, token, seconds, rate):
    """The answers and faults of all clients together."""
    clients = [Browser(k, port, token, time.monotonic() + seconds, rate) for k in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return sum((client.answers for client in clients), Counter()), [line for c in clients for line in c.wrong]


def soak(seconds, rate):
    """Counts of the answers, faults, and what the server has before and after."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen([sys.executable, "-c", SERVER, folder], stdout=subprocess.PIPE, text=True,
                                  env=environment)  # fmt: skip
        try:
            port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)\n", server.stdout.readline()).groups()
            ask(int(port), token, min(10, max(seconds / 4, 2)), rate)
            time.sleep(0.5)
            before = left_over(server.pid)
            answers, wrong = ask(int(port), token, seconds, rate)
            time.sleep(0.5)
            after = left_over(server.pid)
        finally:
            server.send_signal(signal.SIGINT)
            code = server.wait(20)
            server.stdout.close()
    wrong += [] if code == 0 else [f"the server ended with code {code}"]
    wrong += [f"{after[k] - before[k]} {k} left over" for k, more in MORE.items() if after[k] > before[k] + more]
    return answers, wrong, before, after


def main():
    """Run and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long (default 600)")
    parser.add_argument("--rate", type=float, default=1000, help="requests per second at most (default 1000)")
    args = parser.parse_args()
    sys.path[:0] = PATHS
    answers, wrong, before, after = soak(args.seconds, args.rate)
    total = sum(answers.values())
    counts = {str(name): number for name, number in answers.most_common()}
    print(json.dumps({"requests": total, "per_second": round(total / args.seconds, 1), "answers": counts,
                      "before": before, "after": after, "wrong": wrong[:20]}, indent=2))  # fmt: skip
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
