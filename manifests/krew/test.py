#!/usr/bin/env python3
"""Tests kubectl-rankwright with a real kubectl and an API server of a hundred lines: test.py. Needs no package.

The server has the objects of a test, answers what kubectl asks, and remembers what it writes. `kubectl` in the PATH is a script that
notes its arguments first; it does `exec` and `logs` itself, as there are no pods.
"""
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from urllib.parse import parse_qs, urlparse

HERE = os.path.dirname(os.path.abspath(__file__))
PLUGIN = os.path.join(HERE, "kubectl-rankwright")
PAGE = os.path.join(HERE, "../../docs/kubernetes-troubleshooting.md")
KINDS = {
    "v1": [("pods", "Pod"), ("events", "Event")],
    "batch/v1": [("jobs", "Job"), ("cronjobs", "CronJob")],
    "rankwright.dev/v1alpha1": [("rankingservices", "RankingService")],
}
READY = {"type": "Ready", "status": "True", "reason": "AllPartsWork", "message": "all parts work"}
VALID = {"type": "ConfigurationValid", "status": "True", "reason": "Valid", "message": "the configuration is right"}


def headings(page):
    """The anchors of a page."""
    titles = re.findall(r"^#+ (.*)$", page, re.M)
    return [re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles]


class Api(http.server.BaseHTTPRequestHandler):
    """What kubectl needs of an API server."""

    def log_message(self, *_):
        pass

    def answer(self, body, code=200):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, what):
        message = f"{what} not found"
        self.answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "message": message, "code": 404}, 404)

    def discovery(self, path):
        served = {version: kinds for version, kinds in KINDS.items() if version not in self.server.missing}
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            entries = [{"groupVersion": version, "version": version.split("/")[1]} for version in served if "/" in version]
            groups = [{"name": entry["groupVersion"].split("/")[0], "versions": [entry], "preferredVersion": entry} for entry in entries]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        version = re.sub("^/apis?/", "", path)
        if version not in served:
            return None
        verbs = ["get", "list", "create", "patch"]
        resources = [{"name": name, "singularName": kind.lower(), "kind": kind, "namespaced": True, "verbs": verbs} for name, kind in served[version]]
        return {"kind": "APIResourceList", "groupVersion": version, "resources": resources}

    def do_GET(self):
        url = urlparse(self.path)
        found = self.discovery(url.path)
        if found:
            return self.answer(found)
        match = re.fullmatch(r"/apis?/(.+?)(?:/namespaces/([^/]+))?/([a-z]+)(?:/([^/]+))?", url.path)
        if not match or match[1] not in KINDS or match[1] in self.server.missing:
            return self.refuse(url.path)
        version, namespace, resource, name = match.groups()
        objects = [entry for entry in self.server.objects.get(resource, []) if namespace in (None, entry["metadata"]["namespace"])]
        if name:
            named = [entry for entry in objects if entry["metadata"]["name"] == name]
            return self.answer(named[0]) if named else self.refuse(f'{resource}.{version.split("/")[0]} "{name}"')
        [selector] = parse_qs(url.query).get("labelSelector", [""])
        wanted = dict(pair.split("=") for pair in selector.split(",") if pair)
        objects = [entry for entry in objects if wanted.items() <= entry["metadata"].get("labels", {}).items()]
        self.answer({"kind": dict(KINDS[version])[resource] + "List", "apiVersion": version, "metadata": {}, "items": objects})

    def write(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        protobuf = "protobuf" in self.headers["Content-Type"]
        self.server.written.append((self.command, urlparse(self.path).path, body if protobuf else json.loads(body)))
        kind = {"apiVersion": "batch/v1", "kind": "Job"} if protobuf else {"apiVersion": "rankwright.dev/v1alpha1", "kind": "RankingService"}
        self.answer({**kind, "metadata": {"name": "written", "namespace": "shop"}})

    do_POST = do_PATCH = write


def labels(component):
    return {"app.kubernetes.io/name": "rankwright", "app.kubernetes.io/instance": "shop", "app.kubernetes.io/component": component}


def thing(version, kind, name, **fields):
    metadata = {"name": name, "namespace": "shop", "creationTimestamp": "2026-11-01T00:00:00Z", **fields.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def service(conditions=(READY,), spec=None, **status):
    status = {"observedGeneration": 2, "conditions": list(conditions), "models": [{"name": "default", "version": "v2"}], **status}
    return thing("rankwright.dev/v1alpha1", "RankingService", "shop", metadata={"generation": 2}, spec=spec or {}, status=status)


def cron_job(name, model=None):
    annotations = {"rankwright.dev/model": model} if model else {}
    template = {"metadata": {"labels": labels("training")}, "spec": {"template": {"spec": {"containers": [{"name": "train", "image": "i"}]}}}}
    spec = {"schedule": "0 3 * * *", "jobTemplate": template}
    return thing("batch/v1", "CronJob", name, metadata={"labels": labels("training"), "annotations": annotations, "uid": name}, spec=spec)


class PluginTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
        self.server.objects, self.server.written, self.server.missing = {"rankingservices": [service()]}, [], set()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        address = f"http://127.0.0.1:{self.server.server_port}"
        config = {"clusters": [{"name": "c", "cluster": {"server": address}}], "users": [],
                  "contexts": [{"name": "here", "context": {"cluster": "c", "namespace": "shop"}}], "current-context": "here"}
        self.file("config", json.dumps(config))
        self.calls = self.file("calls", "")
        script = f'#!/bin/sh\necho "$*" | tr "\\n" " " | sed "s/ $//" >>{self.calls}; echo >>{self.calls}\ncase " $* " in *" exec "*|*" logs "*) echo done ;; *) exec {KUBECTL} "$@" ;; esac\n'
        os.mkdir(os.path.join(self.folder, "bin"))
        os.chmod(self.file("bin/kubectl", script), 0o755)

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_plugin(self, *arguments, code=0, errors=False):
        path = os.path.join(self.folder, "bin") + os.pathsep + os.environ["PATH"]
        environment = {**os.environ, "PATH": path, "HOME": self.folder, "KUBECONFIG": os.path.join(self.folder, "config")}
        done = subprocess.run([PLUGIN, *arguments], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if not errors and (code == 0 or done.stdout) else done.stderr

    def called(self):
        with open(self.calls, encoding="utf-8") as file:
            return file.read().splitlines()

    # --- arguments

    def test_help_lists_every_command(self):
        text = self.run_plugin("--help")
        for command in ("status", "train", "rollback", "pin", "logs", "explain"):
            self.assertIn(f"kubectl rankwright {command} ", text)
        self.assertEqual(self.run_plugin(code=2), text)

    def test_wrong_arguments_end_with_code_2_and_name_what_is_wrong(self):
        for arguments, said in [
            (["scale", "shop"], "scale is no command"),
            (["explain"], "usage: kubectl rankwright explain SERVICE"),
            (["status", "shop", "blog"], "usage: kubectl rankwright status [SERVICE]"),
            (["status", "--wide"], "status knows no option --wide"),
            (["explain", "shop", "--model=default"], "--model is an option of train"),
            (["logs", "shop", "purge"], "purge is no part of a service: rank, ingest, training or import"),
            (["pin", "shop", "default"], "usage: kubectl rankwright pin SERVICE MODEL VERSION"),
            (["pin", "shop", "default", "latest"], "latest is no version"),
            (["pin", "shop", "default", 'v1"}'], "is no name of a version"),
            (["status", "shop", "--namespace"], "--namespace needs a value"),
            (["status", "shop", "--context"], "--context needs a value"),
        ]:
            self.assertIn(said, self.run_plugin(*arguments, code=2), arguments)
        self.assertEqual(self.server.written, [])

    def test_namespace_and_context_reach_every_call(self):
        self.run_plugin("-n", "shop", "status", "shop", "--context", "here")
        for call in self.called():
            self.assertTrue(call.startswith("--context=here --namespace=shop "), call)

    # --- what is not there

    def test_a_missing_service_is_told_with_those_that_exist(self):
        self.assertEqual(self.run_plugin("status", "shoop", code=1), "error: namespace shop has no RankingService shoop; it has: shop\n")
        self.assertEqual(self.run_plugin("explain", "shop", "-n", "blog", code=1), "error: namespace blog has no RankingService shop; it has: none\n")

    def test_a_cluster_without_the_definition_is_told(self):
        self.server.missing.add("rankwright.dev/v1alpha1")
        self.assertIn("install the definition first", self.run_plugin("status", "shop", code=1))

    def test_a_cluster_that_does_not_answer_is_told_in_the_words_of_kubectl(self):
        self.server.shutdown()
        self.server.server_close()
        self.assertIn("refused", self.run_plugin("explain", "shop", code=1))

    def test_a_missing_model_is_told_with_those_that_exist(self):
        for command in (["rollback", "shop", "defalt"], ["pin", "shop", "defalt", "v1"]):
            self.assertEqual(self.run_plugin(*command, code=1), "error: shop has no model defalt; it has: default\n")
        self.assertEqual(self.server.written, [])

    # --- commands

    def test_status_lists_services_and_describes_one(self):
        self.assertIn("shop", self.run_plugin("status"))
        training = {"outcome": "Kept", "reason": "Worse", "metric": "NDCG@10", "candidate": "0.41", "running": "0.42", "message": "kept"}
        model = {"name": "default", "version": "v2", "pinned": "v1", "problem": "1 of 2 serve v1", "lastTraining": training}
        rank = {"ready": "1/2", "endpoint": "http://shop-rank", "image": "rankwright:1"}
        late = {**READY, "status": "False", "reason": "RollingOut", "message": "1 of 2"}
        self.server.objects["rankingservices"] = [service([late], models=[model], rank=rank, warnings=["not used"])]
        self.assertEqual(self.run_plugin("status", "shop"), """shop/shop: not ready: RollingOut: 1 of 2
rank servers:    1/2 ready, at http://shop-rank, image rankwright:1
model default: v2, pinned to v1
  problem: 1 of 2 serve v1
  last training: Kept (Worse), NDCG@10 0.41, running version 0.42: kept
warning: not used
""")

    def test_train_makes_a_job_of_the_schedule(self):
        self.server.objects["cronjobs"] = [cron_job("shop-training"), cron_job("shop-popular-1", "popular")]
        self.run_plugin("train", "shop")
        self.run_plugin("train", "shop", "--model", "popular")
        made = [body for method, path, body in self.server.written if (method, path) == ("POST", "/apis/batch/v1/namespaces/shop/jobs")]
        self.assertEqual(len(made), 2)
        for job, schedule in zip(made, (b"shop-training", b"shop-popular-1")):
            self.assertRegex(job, rb"shop-now-\d{10}\W")
            self.assertIn(schedule, job)

    def test_train_refuses_what_does_not_work(self):
        self.assertIn("shop has no training schedule", self.run_plugin("train", "shop", code=1))
        self.server.objects["cronjobs"] = [cron_job("shop-training"), cron_job("shop-popular-1", "popular")]
        self.assertIn("model default has no schedule of its own", self.run_plugin("train", "shop", "--model=default", code=1))
        self.assertIn("shop has no model x; it has: default", self.run_plugin("train", "shop", "--model=x", code=1))
        owner = {"labels": labels("training"), "ownerReferences": [{"name": "shop-training"}]}
        self.server.objects["jobs"] = [thing("batch/v1", "Job", "shop-training-7", metadata=owner, status={"active": 1})]
        self.assertIn("runs already: shop-training-7", self.run_plugin("train", "shop", code=1))
        self.server.objects["cronjobs"] = [cron_job("shop-popular-1", "popular")]
        self.assertIn("give --model, one of popular", self.run_plugin("train", "shop", code=1))
        self.assertEqual(self.server.written, [])

    def test_pin_patches_the_spec_and_takes_the_pin_back(self):
        self.server.objects["rankingservices"] = [service([READY, VALID])]
        self.run_plugin("pin", "shop", "default", "20261114T162500000Z-1a2b3c4d")
        self.run_plugin("pin", "shop", "default", "--remove")
        pins = [body["spec"]["modelVersion"] for method, _, body in self.server.written if method == "PATCH"]
        self.assertEqual(pins, [{"default": "20261114T162500000Z-1a2b3c4d"}, {"default": None}])

    def test_pin_tells_that_the_operator_has_refused_it_or_has_not_looked_at_it(self):
        for reason, message in (
            ("NoSuchVersion", "there is no version v7; there are: v1"),
            ("ConfigurationContradicts", "configuration.models.default.version: spec.modelVersion pins another version"),
        ):
            refused = {**VALID, "status": "False", "reason": reason, "message": message}
            self.server.objects["rankingservices"] = [service([READY, refused])]
            said = self.run_plugin("pin", "shop", "default", "v7", code=1, errors=True)
            self.assertEqual(said, f"error: the operator refuses it: {message}\n")
        behind = service()
        behind["metadata"]["generation"] = 3
        self.server.objects["rankingservices"] = [behind]
        said = self.run_plugin("pin", "shop", "default", "v7", code=1, errors=True)
        self.assertIn("the operator has not looked at it within ten seconds", said)

    def test_rollback_runs_the_command_in_a_rank_server_unless_a_pin_wins(self):
        self.run_plugin("rollback", "shop", "default")
        self.assertIn("exec deployment/shop-rank -- rankwright models rollback --model default", self.called()[-1])
        self.server.objects["rankingservices"] = [service(spec={"modelVersion": {"default": "v1"}})]
        self.assertIn("model default is pinned to v1", self.run_plugin("rollback", "shop", "default", code=1))

    def test_logs_are_those_of_a_part_or_of_the_newest_pod(self):
        self.run_plugin("logs", "shop", "-f", "--since=10m")
        self.assertRegex(self.called()[-1], r"logs --selector .*instance=shop,app.kubernetes.io/component=rank .* -f --since=10m$")
        self.assertIn("no pod of a training", self.run_plugin("logs", "shop", "training", code=1))
        ages = {"new": "2026-11-02T00:00:00Z", "old": "2026-11-01T00:00:00Z"}
        self.server.objects["pods"] = [thing("v1", "Pod", name, metadata={"labels": labels("training"), "creationTimestamp": age}) for name, age in ages.items()]
        self.run_plugin("logs", "shop", "training")
        self.assertTrue(self.called()[-1].endswith("logs pod/new"), self.called()[-1])

    # --- explain

    def explain(self, *conditions, code=1, **objects):
        self.server.objects = {"rankingservices": [service(conditions)], **objects}
        return self.run_plugin("explain", "shop", code=code)

    def test_explain_says_of_a_ready_service_that_it_is_ready(self):
        self.assertEqual(self.explain(READY, code=0), "shop is ready.\n")

    def test_explain_says_what_no_operator_has_seen(self):
        untold = service()
        del untold["status"]
        self.server.objects["rankingservices"] = [untold]
        self.assertIn("#when-the-status-is-empty", self.run_plugin("explain", "shop", code=1))
        behind = service()
        behind["metadata"]["generation"] = 3
        self.server.objects["rankingservices"] = [behind]
        self.assertIn("has not seen the last change yet", self.run_plugin("explain", "shop"))

    def test_explain_prints_a_message_of_two_conditions_once(self):
        late = {"type": "Ready", "status": "False", "reason": "PodWithoutNode", "message": "none of 2 is ready"}
        said = self.explain(late, {**late, "type": "Available", "reason": "NoneReady"}, {**late, "type": "IngestReady", "reason": "NoneReady", "message": "none of 1"})
        told = re.findall(r"^(\w+) is False: (.*)$", said, re.M)
        self.assertEqual(told, [("Ready", "PodWithoutNode: none of 2 is ready"), ("Available", "NoneReady: as above"), ("IngestReady", "NoneReady: none of 1")])

    def test_explain_brings_conditions_pods_and_the_newest_events_together(self):
        waiting = {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}, "ready": False}
        ended = {"state": {"running": {}}, "ready": False, "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
        lost = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}
        statuses = {"a": {"containerStatuses": [waiting]}, "b": {"containerStatuses": [ended]}, "c": {"conditions": [lost]},
                    "well": {"containerStatuses": [{**ended, "ready": True}]}}
        pods = [thing("v1", "Pod", name, metadata={"labels": labels("rank")}, status=status) for name, status in statuses.items()]
        about = {"shop": "RankingService", "shop-rank-1": "Pod", "blog-rank-1": "Pod"}
        events = [thing("v1", "Event", f"{name}{day}", type="Warning", involvedObject={"kind": kind, "name": name}, reason="Bad", message=f'"{name}"\nof {day}',
                        eventTime=f"2026-11-0{day}T00:00:00Z") for name, kind in about.items() for day in range(1, 5)]
        said = self.explain({**READY, "status": "False", "reason": "PodWithoutImage", "message": 'image "x"\tis missing'}, pods=pods, events=events)
        self.assertIn('shop is not ready.\n\nReady is False: PodWithoutImage: image "x" is missing\n  https://', said)
        self.assertIn("  a: ImagePullBackOff: no such image\n  b: ended with exit code 137, OOMKilled, and was started again\n  c: Unschedulable: 0/3 nodes are available\n", said)
        self.assertNotIn("well", said)
        self.assertNotIn("blog", said)
        told = re.findall(r"^  (\S+) (\S+): Bad: (.*)$", said, re.M)
        self.assertEqual(len(told), 5)
        self.assertEqual(told, sorted(told))
        self.assertEqual(told[-1], ("2026-11-04T00:00:00Z", "RankingService/shop", '"shop" of 4'))

    def test_explain_leads_to_headings_of_the_page_where_it_names_them_itself(self):
        with open(PLUGIN, encoding="utf-8") as file:
            named = set(re.findall(r"\$\(page ([a-z-]+)\)", file.read()))
        self.assertGreater(len(named), 1)
        with open(PAGE, encoding="utf-8") as file:
            self.assertEqual(named - set(headings(file.read())), set())

    def test_explain_leads_to_a_heading_of_the_page_for_every_reason_that_it_lists(self):
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        rows = re.findall(r"^\| \[.*?\]\(#.*?\) \| (.*) \|$", page, re.M)
        reasons = sorted({reason for row in rows for linked in re.findall(r"\[([^]]*)\]\(", row) for reason in re.findall(r"`(\w+)`", linked)})
        self.assertGreater(len(reasons), 25)
        said = self.explain(*({"type": f"Of{reason}", "status": "False", "reason": reason, "message": "m"} for reason in reasons))
        anchors = re.findall(r"^  https://github.com/\S+/docs/kubernetes-troubleshooting.md#(\S+)$", said, re.M)
        self.assertEqual(len(anchors), len(reasons))
        self.assertEqual([anchor for anchor in anchors if anchor not in headings(page)], [])


if __name__ == "__main__":
    KUBECTL = shutil.which("kubectl")
    if not KUBECTL:
        sys.exit("kubectl is missing: e2e/cluster/build.sh kube builds it")
    unittest.main()
