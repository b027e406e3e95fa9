#!/usr/bin/env python3
"""Lets clones of this repository share what cargo has built: ages.py adopt | remember, in a clone.

Cargo takes a source that is younger than what was built of it for changed. In a clone that has just been made all are, so that
all would be built again; and one that is older than the last build may yet differ from what another clone built. `remember`,
after a build, keeps digest and age of each source in CARGO_TARGET_DIR. `adopt`, before the first build of another clone, gives
those that are the same the age they had, and the others that of now. What was built by something else since then is forgotten.
"""

import hashlib
import json
import os
import pathlib
import shutil
import sys
import time

TARGET = pathlib.Path(os.environ["CARGO_TARGET_DIR"])
KEPT = TARGET / "sources.json"
OURS = "rankwright-*"
NO_SOURCES = {".git", "target", "node_modules"}


def sources():
    """Digest of each file of this clone, by its path."""
    for folder, folders, files in os.walk("."):
        folders[:] = sorted(set(folders) - NO_SOURCES)
        for name in sorted(files):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield path, hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def remember():
    TARGET.mkdir(parents=True, exist_ok=True)
    files = {path: [digest, os.stat(path).st_mtime_ns] for path, digest in sources()}
    new = KEPT.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps({"clone": os.getcwd(), "files": files}))
    new.rename(KEPT)


def last():
    """What was remembered, unless something was built since then that nothing is known of."""
    try:
        since = KEPT.stat().st_mtime_ns
        kept = json.loads(KEPT.read_text())
    except (OSError, ValueError):
        return None
    unknown = any(file.stat().st_mtime_ns > since for unit in units() for file in unit.iterdir())
    return None if unknown else kept


def units():
    return list(TARGET.glob(f"*/.fingerprint/{OURS}"))


def adopt():
    mark = TARGET / "clone"
    here = os.getcwd()
    if mark.is_file() and mark.read_text().strip() == here:
        return
    kept = last()
    # a source outside of its package is known by its whole path, which leads to the other clone
    elsewhere = None if kept is None else os.fsencode(kept["clone"] + "/")
    for unit in units():
        if kept is None or any(elsewhere in file.read_bytes() for file in unit.glob("dep-*")):
            shutil.rmtree(unit)
    now = time.time_ns()
    for path, digest in sources():
        known, age = (kept or {"files": {}})["files"].get(path, [None, now])
        age = age if known == digest else now
        os.utime(path, ns=(age, age))
    TARGET.mkdir(parents=True, exist_ok=True)
    mark.write_text(here + "\n")


if __name__ == "__main__":
    what = sys.argv[1:]
    if what not in (["adopt"], ["remember"]):
        sys.exit(f"usage: {sys.argv[0]} adopt | remember")
    adopt() if what == ["adopt"] else remember()
