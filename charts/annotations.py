#!/usr/bin/env python3
"""Checks what Artifact Hub shows of a chart: annotations.py CHART. Needs Helm, which reads YAML.

Icon, images and custom resources are those of this repository, the example is that of the first sample, and values are those that
Artifact Hub knows. Prints each fault, and ends with 1 where there is one.
"""
import os
import sys

from by_helm import content, read

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
KINDS = {"added", "changed", "deprecated", "removed", "fixed", "security"}
CATEGORIES = {"ai-machine-learning", "database", "integration-delivery", "monitoring-logging", "networking", "security", "storage", "streaming-messaging"}
LISTS = ("images", "links", "changes", "crds", "crdsExamples")
PREFIX = "artifacthub.io/"


def check(folder):
    chart, values, definition = read([content(os.path.join(folder, "Chart.yaml")), content(os.path.join(folder, "values.yaml")),
                                      content(os.path.join(ROOT, "crds/rankingservices.yaml"))])
    noted = {key.removeprefix(PREFIX): text for key, text in chart["annotations"].items()}
    texts = [f"list:\n{noted[key]}" for key in LISTS if key in noted]
    lists = dict(zip((key for key in LISTS if key in noted), read(texts)))
    for key, found in lists.items():
        if not found.get("list"):
            yield f"{key}: {found.get('Error', 'it is empty')}"
            return
    lists = {key: found["list"] for key, found in lists.items()}
    raw = chart["home"].replace("https://github.com/", "https://raw.githubusercontent.com/") + "/main/"
    if not chart["icon"].startswith(raw) or not os.path.exists(os.path.join(ROOT, chart["icon"].removeprefix(raw))):
        yield f"icon: {chart['icon']} is no file of this repository"
    if noted.get("category") not in CATEGORIES:
        yield f"category: {noted.get('category')}"
    if not chart.get("kubeVersion") or not chart.get("maintainers"):
        yield "kubeVersion or maintainers are missing"
    if "image" in values:
        image = f"{values['image']['repository']}:{values['image']['tag'] or chart['appVersion']}"
        if image not in [entry["image"] for entry in lists.get("images", [])]:
            yield f"images: {image} is missing"
    links = [link for entry in lists["changes"] for link in entry.get("links", [])] + lists["links"]
    yield from (f"links: {link}" for link in links if not link.get("name") or not link.get("url", "").startswith("https://"))
    yield from (f"changes: {entry}" for entry in lists["changes"] if entry.get("kind") not in KINDS or not entry.get("description"))
    yield from custom_resources(lists, definition)


def custom_resources(lists, definition):
    names = definition["spec"]["names"]
    served = {(definition["metadata"]["name"], names["kind"], version["name"]) for version in definition["spec"]["versions"]}
    if {(entry["name"], entry["kind"], entry["version"]) for entry in lists["crds"]} != served:
        yield f"crds: these are served: {sorted(served)}"
    documents = content(os.path.join(ROOT, "manifests/samples/01-minimal.yaml")).split("\n---\n")
    [sample] = [found for found in read(documents) if found["kind"] == names["kind"]]
    del sample["metadata"]["namespace"]
    if lists["crdsExamples"] != [sample]:
        yield "crdsExamples: it is not the resource of manifests/samples/01-minimal.yaml, without its namespace"


if __name__ == "__main__":
    faults = list(check(sys.argv[1] if len(sys.argv) == 2 else sys.exit("usage: annotations.py CHART")))
    print("\n".join(faults) or f"{sys.argv[1]}: nothing is wrong")
    sys.exit(1 if faults else 0)
