#!/usr/bin/env python3
"""Checks a bundle by the rules of `operator-sdk bundle validate`, and a few of our own: check.py FOLDER. Needs Helm, which reads YAML.

Prints each fault, and ends with 1 where there is one.
"""
import base64
import json
import os
import re
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../charts"))
from by_helm import content, read  # noqa: E402

KINDS = {"ClusterRole", "ClusterRoleBinding", "ClusterServiceVersion", "ConfigMap", "CustomResourceDefinition", "PodDisruptionBudget", "PriorityClass",
         "PrometheusRule", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "ServiceMonitor"}
MODES = {"OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"}
CAPABILITIES = {"Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"}
CATEGORIES = {"AI/Machine Learning", "Application Runtime", "Big Data", "Cloud Provider", "Database", "Developer Tools", "Development Tools",
              "Drivers and plugins", "Integration & Delivery", "Logging & Tracing", "Modernization & Migration", "Monitoring", "Networking",
              "OpenShift Optional", "Observability", "Security", "Storage", "Streaming & Messaging"}
LABELS = "operators.operatorframework.io.bundle."
LIMIT = 1 << 20  # of a ConfigMap, which OLM keeps a bundle in
VERSION = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?"


def check(folder):
    manifests = sorted(os.path.join(folder, "manifests", name) for name in os.listdir(os.path.join(folder, "manifests")))
    *objects, metadata = read([content(path) for path in (*manifests, os.path.join(folder, "metadata/annotations.yaml"))])
    for path, found in zip(manifests, objects):
        if "Error" in found:
            yield f"{path}: {found['Error']}"
        elif found.get("kind") not in KINDS:
            yield f"{path}: OLM takes no {found.get('kind')}"
        elif "namespace" in found["metadata"]:
            yield f"{path}: OLM chooses the namespace"
    of_kind = {kind: [found for found in objects if found.get("kind") == kind] for kind in KINDS}
    if len(of_kind["ClusterServiceVersion"]) != 1:
        yield f"manifests: there are {len(of_kind['ClusterServiceVersion'])} ClusterServiceVersions, and one is needed"
        return
    [version] = of_kind["ClusterServiceVersion"]
    yield from annotations(folder, metadata.get("annotations", {}))
    yield from of_version(version)
    yield from of_install(version["spec"])
    yield from of_definitions(version, of_kind["CustomResourceDefinition"])
    if sum(map(os.path.getsize, manifests)) > LIMIT:
        yield f"manifests: they have more than {LIMIT} bytes"


def annotations(folder, found):
    wanted = {"mediatype.v1": "registry\\+v1", "manifests.v1": "manifests/", "metadata.v1": "metadata/", "package.v1": r"[a-z0-9-]+",
              "channels.v1": r"[a-z0-9.,-]+", "channel.default.v1": r"[a-z0-9.-]+"}
    for key, pattern in wanted.items():
        if not re.fullmatch(pattern, str(found.get(LABELS + key, ""))):
            yield f"annotations.yaml: {LABELS}{key}: {found.get(LABELS + key)}"
    if found.get(LABELS + "channel.default.v1") not in found.get(LABELS + "channels.v1", "").split(","):
        yield "annotations.yaml: the default channel is none of the channels"
    labels = dict(re.findall(r"^LABEL (\S+?)=(.*)$", content(os.path.join(folder, "bundle.Dockerfile")), re.M))
    if labels != found:
        yield "bundle.Dockerfile: its labels are not those of annotations.yaml"


def of_version(version):
    spec, noted, name = version["spec"], version["metadata"]["annotations"], version["metadata"]["name"]
    if version["apiVersion"] != "operators.coreos.com/v1alpha1":
        yield f"apiVersion: {version['apiVersion']}"
    if not re.fullmatch(VERSION, spec.get("version", "")):
        yield f"spec.version: {spec.get('version')} is no semantic version"
    if not name.endswith(f".v{spec.get('version')}"):
        yield f"metadata.name: {name} does not end with the version, {spec.get('version')}"
    if not re.fullmatch(VERSION, spec.get("minKubeVersion", "")):
        yield f"spec.minKubeVersion: {spec.get('minKubeVersion')} is no version"
    for key in ("displayName", "description"):
        if not spec.get(key):
            yield f"spec.{key} is missing"
    if not spec.get("provider", {}).get("name"):
        yield "spec.provider.name is missing"
    if noted.get("capabilities") not in CAPABILITIES:
        yield f"capabilities: {noted.get('capabilities')}"
    for category in noted.get("categories", "").split(","):
        if category.strip() not in CATEGORIES:
            yield f"categories: {category}"
    for link in spec.get("links", []):
        if not link.get("name") or not re.match("https://", link.get("url", "")):
            yield f"spec.links: {link}"
    for icon in spec.get("icon", [{}]):
        try:
            picture = xml.etree.ElementTree.fromstring(base64.b64decode(icon["base64data"], validate=True))
            if icon["mediatype"] != "image/svg+xml" or not picture.tag.endswith("}svg"):
                yield "spec.icon: it is no SVG"
        except (KeyError, ValueError, xml.etree.ElementTree.ParseError) as error:
            yield f"spec.icon: {error}"
    modes = {mode["type"]: mode["supported"] for mode in spec.get("installModes", [])}
    if set(modes) != MODES or not any(modes.values()):
        yield f"spec.installModes: {modes}"


def of_install(spec):
    install = spec["install"]["spec"]
    granted = {entry["serviceAccountName"] for part in ("clusterPermissions", "permissions") for entry in install.get(part, []) if entry["rules"]}
    if not install.get("deployments"):
        yield "spec.install.spec.deployments is empty"
    related = {entry["image"] for entry in spec.get("relatedImages", [])}
    for deployment in install.get("deployments", []):
        pod, chosen = deployment["spec"]["template"], deployment["spec"]["selector"]["matchLabels"]
        if pod["spec"].get("serviceAccountName") not in granted:
            yield f"deployment {deployment['name']}: its account is granted nothing"
        if not chosen.items() <= pod["metadata"]["labels"].items():
            yield f"deployment {deployment['name']}: its selector finds no pod"
        for container in pod["spec"]["containers"]:
            used = {container["image"]} | {entry["value"] for entry in container.get("env", []) if entry["name"] == "RANKWRIGHT_IMAGE"}
            yield from (f"spec.relatedImages lacks {image}" for image in sorted(used - related))
            if not container.get("resources", {}).get("requests"):
                yield f"container {container['name']}: it requests nothing"


def of_definitions(version, definitions):
    owned = version["spec"]["customresourcedefinitions"]["owned"]
    served = {(found["metadata"]["name"], found["spec"]["names"]["kind"], entry["name"]): entry for found in definitions for entry in found["spec"]["versions"]}
    listed = {(entry["name"], entry["kind"], entry["version"]): entry for entry in owned}
    yield from (f"owned: {' '.join(key)} has no definition in manifests" for key in sorted(set(listed) - set(served)))
    yield from (f"owned: {' '.join(key)} is missing" for key in sorted(set(served) - set(listed)))
    for key in set(listed) & set(served):
        schema = served[key]["schema"]["openAPIV3Schema"]["properties"]
        for part in ("spec", "status"):
            for entry in listed[key].get(f"{part}Descriptors", []):
                if not reaches(schema[part], entry["path"].split(".")):
                    yield f"{part}Descriptors: {key[1]} has no {part}.{entry['path']}"
                if not all(text.startswith("urn:alm:descriptor:") for text in entry.get("x-descriptors", [])):
                    yield f"{part}Descriptors: {entry['path']}: {entry['x-descriptors']}"
    try:
        examples = json.loads(version["metadata"]["annotations"]["alm-examples"])
    except (KeyError, ValueError) as error:
        yield f"alm-examples: {error}"
        return
    kinds = {(entry["apiVersion"].split("/")[1], entry["kind"]) for entry in examples}
    yield from (f"alm-examples: none for {key[1]}" for key in served if (key[2], key[1]) not in kinds)
    yield from (f"alm-examples: {kind} is not owned" for apart, kind in sorted(kinds) if (apart, kind) not in {(key[2], key[1]) for key in served})


def reaches(schema, path):
    return not path or (path[0] in schema.get("properties", {}) and reaches(schema["properties"][path[0]], path[1:]))


if __name__ == "__main__":
    faults = list(check(sys.argv[1] if len(sys.argv) == 2 else sys.exit("usage: check.py FOLDER")))
    print("\n".join(faults) or f"{sys.argv[1]}: nothing is wrong")
    sys.exit(1 if faults else 0)
