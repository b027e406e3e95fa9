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
MARK = TARGET / "clone"
OURS = "rankwright-*"
NO_SOURCES = {".git", "target", "node_modules"}


def here():
    """This clone: another one may lie at its place later."""
    return f"{os.getcwd()} {os.stat('.').st_ino}"


def is_ours():
    return MARK.is_file() and MARK.read_text().strip() == here()


def sources():
    """Digest and age of each file of this clone, by its path."""
    for folder, folders, files in os.walk("."):
        folders[:] = sorted(set(folders) - NO_SOURCES)
        for name in sorted(files):
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and not os.path.islink(path):
                    digest = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
                    yield path, digest, os.stat(path).st_mtime_ns
            except OSError:
                pass  # it is gone, or nobody's to read: cargo does not read it either


def remember():
    if not is_ours():  # somebody else has built here meanwhile
        KEPT.unlink(missing_ok=True)
        return
    new = KEPT.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps({"clone": os.getcwd(), "files": {path: known for path, *known in sources()}}))
    new.rename(KEPT)


def last():
    """What was remembered, unless something was built since then that nothing is known of."""
    try:
        since = KEPT.stat().st_mtime_ns
        kept = json.loads(KEPT.read_text())
    except (OSError, ValueError):
        return None
    return None if newest() > since else kept


def units():
    return list(TARGET.glob(f"*/.fingerprint/{OURS}"))


def newest():
    """When the last of ours was built."""
    return max((file.stat().st_mtime_ns for unit in units() for file in unit.iterdir()), default=0)


def adopt():
    if is_ours():
        return
    kept = last()
    # a source outside of its package is known by its whole path, which leads to the other clone
    elsewhere = None if kept is None else os.fsencode(kept["clone"] + "/")
    now = max(time.time_ns(), newest() + 1_000_000_000)
    for unit in units():
        if kept is None or any(elsewhere in file.read_bytes() for file in unit.glob("dep-*")):
            shutil.rmtree(unit)
    for path, digest, _ in sources():
        known, age = (kept or {"files": {}})["files"].get(path, [None, now])
        age = age if known == digest else now
        os.utime(path, ns=(age, age))
    TARGET.mkdir(parents=True, exist_ok=True)
    MARK.write_text(here() + "\n")


if __name__ == "__main__":
    what = sys.argv[1:]
    if what not in (["adopt"], ["remember"]):
        sys.exit(f"usage: {sys.argv[0]} adopt | remember")
    adopt() if what == ["adopt"] else remember()
