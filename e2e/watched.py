#!/usr/bin/env python3
"""Runs tests, tells how far they are, and ends what hangs: watched.py SECONDS LOG COMMAND…

All that the command prints goes to the end of LOG; the lines that name test programs and their results are printed as they come,
so that one sees how far they are. When nothing has come for so many seconds, in which the machine ran, what runs is told, there and here, and
the test program is killed, so that cargo goes on with the next one; where there is none, the command.
The exit code is the command's, 1 where something was killed.
"""
import os
import re
import signal
import subprocess
import sys
import threading
import time

STEP = 1.0  # seconds between two looks
GRACE = 30.0  # seconds that a command has to clean up behind itself
TOLD = re.compile(rb"^ *(Running|Doc-tests|test result|== |test .* has been running for over)")


class Process:
    """What /proc says of one process."""

    def __init__(self, number):
        self.number = number
        with open(f"/proc/{number}/stat", errors="replace") as stat:
            head, _, rest = stat.read().rpartition(")")
        self.name = head.partition("(")[2]
        fields = rest.split()
        self.state, self.parent, ticks = fields[0], int(fields[1]), int(fields[11]) + int(fields[12])
        self.seconds = ticks / os.sysconf("SC_CLK_TCK")

    def __str__(self):
        with open(f"/proc/{self.number}/cmdline", "rb") as line:
            command = line.read().replace(b"\0", b" ").decode(errors="replace")[:200]
        waits = {}
        for task in os.listdir(f"/proc/{self.number}/task"):
            try:
                with open(f"/proc/{self.number}/task/{task}/wchan") as place:
                    waiting = place.read().strip("0") or "runs"
                with open(f"/proc/{self.number}/task/{task}/comm", errors="replace") as name:
                    waits.setdefault(waiting, []).append(name.read().strip())
            except OSError:
                pass  # it ended
        where = "; ".join(f"{place}: {', '.join(names)}" for place, names in waits.items())
        return f"{self.number} of {self.parent} {self.state} {self.seconds:.1f} s: {command} ({where})"


def below(top):
    """The processes that come from one, itself included, parents first."""
    every = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            every.append(Process(int(number)))
        except OSError:
            pass  # it ended
    found, numbers = [], {top}
    while True:
        more = [process for process in every if (process.number == top or process.parent in numbers) and process not in found]
        if not more:
            return found
        found += more
        numbers.update(process.number for process in more)


def kill(processes, by=signal.SIGKILL):
    for process in processes:
        try:
            os.kill(process.number, by)
        except OSError:
            pass  # it ended


def tell(text, to):
    """Writes a line, past all buffers: who reads may have seen enough."""
    try:
        os.write(to.fileno(), f"{text}\n".encode(to.encoding or "ascii", errors="replace"))
    except OSError:
        pass


def end(child, running, log):
    """Tells what runs, and kills the test programs with what comes from them; or all, after the command was told to end."""
    processes = below(child.pid)
    cargo = {process.number for process in processes if process.name == "cargo"}
    tests = [process for process in processes if process.parent in cargo and process.number not in cargo]
    told = [f"nothing has come for too long, this is killed: {running}"]
    for process in processes:
        try:
            told.append(f"  {process}")
        except OSError:
            pass  # it ended
    text = "\n".join(told)
    tell(f"error: {text}", sys.stderr)
    log.write(f"\nerror: {text}\n".encode(errors="replace"))
    log.flush()
    for test in tests:
        kill(below(test.number))
    if not tests:
        kill(processes[:1], signal.SIGTERM)
        kill(processes[1:])
        try:
            child.wait(GRACE)
        except subprocess.TimeoutExpired:
            kill(below(child.pid))


def main(limit, path, command):
    limit, quiet, ended, running, lost = float(limit), 0.0, False, "nothing has begun", []
    with open(path, "ab") as log:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        heard = threading.Event()

        def copy():
            nonlocal running
            for line in child.stdout:
                heard.set()
                try:
                    log.write(line)
                    log.flush()
                except OSError as error:
                    lost.append(error)  # and the command goes on
                if TOLD.match(line):
                    tell(line.decode(errors="replace").rstrip(), sys.stdout)
                if re.match(rb"^ *(Running|Doc-tests)", line):
                    running = line.decode(errors="replace").strip()

        copier = threading.Thread(target=copy, daemon=True)
        copier.start()
        while child.poll() is None:
            before = time.monotonic()
            if heard.wait(STEP):
                heard.clear()
                quiet = 0.0
            # a machine that stands still counts as one look
            quiet += min(time.monotonic() - before, 2 * STEP)
            if quiet > limit:
                end(child, running, log)
                ended, quiet = True, 0.0
        copier.join(10)  # what the command left behind may hold the pipe
        code = child.returncode
    if lost:
        tell(f"error: {path} lacks {len(lost)} lines: {lost[0]}", sys.stderr)
    return 1 if ended or lost or code < 0 else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
