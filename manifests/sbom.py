#!/usr/bin/env python3
"""Prints the SBOM of the image (CycloneDX 1.5): sbom.py NAME@sha256:DIGEST VERSION BOM...

Each BOM is what `cargo cyclonedx --format json --describe binaries` says of one program. They become one, with the libraries that the
image brings besides: those of boosters.txt and onnxruntime.txt.
"""
import json
import os
import re
import sys
import uuid

NATIVE = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../services/engine", path)
          for path in ("train/native/boosters.txt", "encoder/native/onnxruntime.txt")]


def merged(image, version, boms):
    name, digest = image.split("@")
    whole = {"type": "container", "bom-ref": image, "name": name, "version": version, "hashes": [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}]}
    libraries = [library for path in NATIVE for library in native(path)]
    components, needed = {entry["bom-ref"]: entry for entry in libraries}, {}
    parts = set(components)
    for bom in boms:
        program = bom["metadata"]["component"]
        parts.add(program["bom-ref"])
        for entry in (program, *bom.get("components", [])):
            components.setdefault(entry["bom-ref"], entry)
        for entry in bom.get("dependencies", []):
            needed.setdefault(entry["ref"], set()).update(entry.get("dependsOn", []))
    needed[image] = parts
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, image)}",
        "metadata": {"component": whole}, "components": [components[ref] for ref in sorted(components)],
        "dependencies": [{"ref": ref, "dependsOn": sorted(needed[ref])} for ref in sorted(needed)],
    }


def native(path):
    """Libraries of a file of requirements: name==version, and the digests of its packages."""
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("\\\n", " ")
    for name, version, rest in re.findall(r"^([\w-]+)==(\S+)(.*)$", text, re.M):
        purl = f"pkg:pypi/{name}@{version}"
        hashes = [{"alg": "SHA-256", "content": digest} for digest in re.findall(r"--hash=sha256:(\w+)", rest)]
        source = {"type": "distribution", "url": f"https://pypi.org/project/{name}/{version}/", "hashes": hashes}
        yield {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, "externalReferences": [source]}


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            bom = json.load(file)
        bom["metadata"]["component"]["bom-ref"]
        return bom
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"error: {path or 'a BOM without a name'} is no BOM of CycloneDX in JSON: {error}")


if __name__ == "__main__":
    if len(sys.argv) < 4 or not re.fullmatch(r"[^@]+@sha256:[0-9a-f]{64}", sys.argv[1]):
        sys.exit("usage: sbom.py NAME@sha256:DIGEST VERSION BOM...")
    print(json.dumps(merged(sys.argv[1], sys.argv[2], [read(path) for path in sys.argv[3:]]), indent=1))
