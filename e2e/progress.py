#!/usr/bin/env python3
"""Reads what cargo prints while it builds, and says every twenty seconds, or SECONDS, how far it is and which crates it is at.
Errors and warnings are passed on.

    cargo build 2> >(e2e/progress.py [SECONDS])
"""

import os
import re
import sys
import time

EVERY = float(sys.argv[1]) if len(sys.argv) > 1 else 20
STEP = re.compile(r"Building \[[^]]*\] (\d+)/(\d+)(?:: (.*\S))?")
USUAL = re.compile(r"\s+(Compiling|Finished|Fresh|Blocking|Downloading|Downloaded|Updating|Locking|Adding)\b")

began = told = time.monotonic()
rest = b""
while chunk := os.read(0, 1 << 16):
    *lines, rest = re.split(rb"[\r\n]+", rest + chunk)
    for line in (line.decode(errors="replace") for line in lines):
        step, now = STEP.search(line), time.monotonic()
        if step and now - told >= EVERY:
            told = now
            crates = f": {step[3]}" if step[3] else ""
            print(f"   {step[1]} of {step[2]}, {(now - began) / 60:.1f} minutes so far{crates}", file=sys.stderr, flush=True)
        elif not step and line and not USUAL.match(line):
            print(line, file=sys.stderr, flush=True)
