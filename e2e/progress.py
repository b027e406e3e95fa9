#!/usr/bin/env python3
"""Reads what cargo prints while it builds, and says every twenty seconds how far it is. Errors and warnings are passed on.

    cargo build 2> >(e2e/progress.py)
"""

import os
import re
import sys
import time

EVERY = 20
STEP = re.compile(r"Building \[[^]]*\] (\d+)/(\d+)")
USUAL = re.compile(r"\s+(Compiling|Finished|Fresh|Blocking|Downloading|Downloaded|Updating|Locking|Adding)\b")

began = told = time.monotonic()
rest = b""
while chunk := os.read(0, 1 << 16):
    *lines, rest = re.split(rb"[\r\n]+", rest + chunk)
    for line in (line.decode(errors="replace") for line in lines):
        step, now = STEP.search(line), time.monotonic()
        if step and now - told > EVERY:
            told = now
            print(f"   {step[1]} of {step[2]}, {(now - began) / 60:.1f} minutes so far", file=sys.stderr, flush=True)
        elif not step and line and not USUAL.match(line):
            print(line, file=sys.stderr, flush=True)
