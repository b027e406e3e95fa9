#!/usr/bin/env python3
"""Checks every sample configuration of the repository against a schema: schema.py SCHEMA

Each of them is valid, and no longer so with a misspelt key. Exits with an error at the first that is otherwise.
"""
import copy
import json
import pathlib
import re
import sys

import jsonschema_rs
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTIONS = {"state", "train", "features", "models", "inference", "api", "source", "core"}
# Mappings whose keys the author chooses.
FREE = {("models",), ("inference",), ("source", "options")}


class Loader(yaml.SafeLoader):
    """YAML 1.2, as editors read it: `no` and `on` are words, and so are dates."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in forms if not tag.endswith((":timestamp", ":bool"))]
    for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), "tTfF")


def samples():
    """Every configuration of the pages and the tests, by where it stands."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if "kubernetes" in page.name:
            continue
        for number, block in enumerate(re.findall(r"\n```yaml\n(.*?)\n```", page.read_text(), re.DOTALL)):
            if not block.startswith("spec:"):
                yield f"{page.name}, block {number + 1}", f"features:\n{block}" if block.startswith("- ") else block
    for file in ("e2e/ranklens.yml", "services/cli/src/generate/config.yml", "e2e/tests/kept/features.yml"):
        yield file, (ROOT / file).read_text().replace("[TERMS]", "terms.json")  # the program fills that in


def keys(value, path=()):
    """Every key that the author does not choose, by its path."""
    if isinstance(value, dict):
        for key, below in value.items():
            is_free = path in FREE or (path and path[-1] == "weights") or str(key).startswith("x-")
            if not is_free:
                yield (*path, key)
            yield from keys(below, (*path, key))
    elif isinstance(value, list):
        for place, below in enumerate(value):
            yield from keys(below, (*path, place))


def misspelt(config, path):
    """The same, with another letter at the end of a key."""
    config = copy.deepcopy(config)
    section = config
    for step in path[:-1]:
        section = section[step]
    section[f"{path[-1]}x"] = section.pop(path[-1])
    return config


def main():
    validator = jsonschema_rs.Draft7Validator(json.loads(pathlib.Path(sys.argv[1]).read_text()))
    checked, refused = 0, 0
    for place, text in samples():
        config = yaml.load(text, Loader)
        if not isinstance(config, dict) or not SECTIONS & config.keys():
            raise SystemExit(f"{place}: not a configuration:\n{text}")
        for error in validator.iter_errors(config):
            raise SystemExit(f"{place}: {error}\n{text}")
        for path in keys(config):
            if validator.is_valid(misspelt(config, path)):
                raise SystemExit(f"{place}: `{path[-1]}x` of {path} is accepted:\n{text}")
            refused += 1
        checked += 1
    assert checked > 25 and refused > 200, (checked, refused)
    print(f"{checked} configurations are valid, and {refused} misspelt keys are refused")


main()
