//! `pod.template`: a pod template that is merged over the operator's, held against the restricted Pod Security Standard
//! (<https://kubernetes.io/docs/concepts/security/pod-security-standards/>).

use super::{RESERVED, Refusal};
use crate::labels::Component;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use rankwright_crds::RankingServiceSpec;
use rankwright_crds::ranking_service::PodOptions;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Kinds of volumes that the restricted standard allows.
const VOLUMES: [&str; 8] =
    ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"];

/// Sysctls that the standard calls safe.
const SYSCTLS: [&str; 9] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
];

/// Types of SELinux that the standard allows.
const SELINUX_TYPES: [&str; 5] = ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

/// How annotations begin that choose a profile of AppArmor, as before there was a field for that.
const APPARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// What the operator sets from other fields: of pods, and of the program's container.
const OF_PODS: [(&str, &str); 5] = [
    ("restartPolicy", "the operator sets it"),
    ("serviceAccountName", "spec.serviceAccount is for that"),
    ("serviceAccount", "spec.serviceAccount is for that"),
    ("terminationGracePeriodSeconds", "programs drain by the time that rank.terminationGracePeriodSeconds says"),
    ("nodeName", "it goes past the scheduler: use nodeSelector or affinity"),
];
const OF_THE_PROGRAM: [(&str, &str); 5] = [
    ("image", "pod.image is for that"),
    ("imagePullPolicy", "spec.imagePullPolicy is for that"),
    ("command", "the operator sets it"),
    ("args", "the operator sets them"),
    ("ports", "the operator sets them"),
];

/// Whether a name of a capability, a volume or a profile is allowed.
type Allowed = fn(&Value) -> bool;

/// The templates of all parts that have one.
pub(super) fn of(spec: &RankingServiceSpec) -> Result<BTreeMap<Component, PodTemplateSpec>, Refusal> {
    let parts = [
        (Component::Rank, Some(&spec.rank.pod)),
        (Component::Ingest, Some(&spec.ingest.pod)),
        (Component::Training, spec.training.as_ref().map(|training| &training.pod)),
        (Component::Import, spec.import.as_ref().map(|import| &import.pod)),
    ];
    let mut templates = BTreeMap::new();
    for (part, options) in parts {
        if let Some(template) = options.and_then(|options: &PodOptions| options.template.as_ref()) {
            let field = format!("spec.{}.pod.template", part.name());
            templates.insert(part, read(&field, part, template)?);
        }
    }
    if let Some(rank) = templates.get(&Component::Rank) {
        templates.insert(Component::Purge, without_containers(rank.clone()));
    }
    Ok(templates)
}

/// A Job has to end, which a sidecar would keep it from.
fn without_containers(mut template: PodTemplateSpec) -> PodTemplateSpec {
    if let Some(pod) = &mut template.spec {
        (pod.containers, pod.init_containers) = (Vec::new(), None);
    }
    template
}

fn read(field: &str, part: Component, template: &Map<String, Value>) -> Result<PodTemplateSpec, Refusal> {
    let given = Value::Object(template.clone());
    let read = serde_json::from_value::<PodTemplateSpec>(given.clone());
    let template = read.map_err(|error| Refusal::unfit(field, format!("is not a pod template: {error}")))?;
    let known = serde_json::to_value(&template).expect("an object of Kubernetes is JSON");
    if let Some(path) = unknown(&given, &known, String::new()) {
        return Err(Refusal::unfit(format!("{field}{path}"), "a pod template has no such field"));
    }
    if let Some(path) = incomplete(&given, &known, String::new()) {
        return Err(Refusal::unfit(format!("{field}{path}"), "is needed where there is something beside it"));
    }
    let check = Check { field, part: part.name() };
    check.metadata(&given["metadata"])?;
    check.pod(&given["spec"])?;
    Ok(template)
}

/// Where something is given that a pod template does not have.
fn unknown(given: &Value, known: &Value, path: String) -> Option<String> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            given.iter().filter(|(_, value)| !is_empty(value)).find_map(|(name, value)| {
                unknown(value, known.get(name).unwrap_or(&Value::Null), format!("{path}.{name}"))
            })
        }
        (Value::Array(given), Value::Array(known)) => (given.iter().zip(known).enumerate())
            .find_map(|(place, (given, known))| unknown(given, known, format!("{path}[{place}]"))),
        (_, Value::Null) => Some(path),
        _ => None,
    }
}

/// What an object of the template cannot do without, and was not given: it would replace what the operator has by nothing.
fn incomplete(given: &Value, known: &Value, path: String) -> Option<String> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => known.iter().find_map(|(name, value)| match given.get(name) {
            Some(given) => incomplete(given, value, format!("{path}.{name}")),
            None => (!is_empty(value)).then(|| format!("{path}.{name}")),
        }),
        (Value::Array(given), Value::Array(known)) => (given.iter().zip(known).enumerate())
            .find_map(|(place, (given, known))| incomplete(given, known, format!("{path}[{place}]"))),
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// Says where a template goes too far.
struct Check<'a> {
    field: &'a str,
    part: &'a str,
}

impl Check<'_> {
    fn refuse(&self, path: &str, problem: impl Into<String>) -> Result<(), Refusal> {
        Err(Refusal::unfit(format!("{}.{path}", self.field), problem))
    }

    /// Refuses what the standard does not allow.
    fn restricted(&self, path: &str, value: &Value, allowed: Allowed, instead: &str) -> Result<(), Refusal> {
        if value.is_null() || allowed(value) {
            return Ok(());
        }
        self.refuse(path, format!("{value} breaks the restricted Pod Security Standard: {instead}"))
    }

    fn metadata(&self, metadata: &Value) -> Result<(), Refusal> {
        for (name, value) in metadata.as_object().into_iter().flatten() {
            if !["labels", "annotations"].contains(&name.as_str()) {
                return self.refuse(&format!("metadata.{name}"), "only labels and annotations are merged");
            }
            let own = |key: &&String| ["app.kubernetes.io/", "rankwright.dev/"].iter().any(|own| key.starts_with(own));
            if let Some(key) = value.as_object().into_iter().flat_map(Map::keys).find(own) {
                return self.refuse(&format!("metadata.{name}[{key}]"), "the operator sets this one");
            }
            let is_profile = |key: &&String| key.starts_with(APPARMOR);
            if let Some(key) = value.as_object().into_iter().flat_map(Map::keys).find(is_profile) {
                return self.refuse(&format!("metadata.{name}[{key}]"), "use securityContext.appArmorProfile");
            }
        }
        Ok(())
    }

    fn pod(&self, pod: &Value) -> Result<(), Refusal> {
        if let Some((name, problem)) = OF_PODS.iter().find(|(name, _)| !pod[name].is_null()) {
            return self.refuse(&format!("spec.{name}"), format!("leave it out: {problem}"));
        }
        for name in ["hostNetwork", "hostPID", "hostIPC"] {
            self.restricted(&format!("spec.{name}"), &pod[name], |value| *value == false, "leave it out")?;
        }
        for volume in pod["volumes"].as_array().into_iter().flatten() {
            let kinds = volume.as_object().into_iter().flat_map(Map::keys).filter(|key| *key != "name");
            for kind in kinds.filter(|kind| !VOLUMES.contains(&kind.as_str())) {
                let path = format!("spec.volumes[{}].{kind}", name(volume));
                self.restricted(&path, &volume[kind], |_| false, "use a claim, a ConfigMap or an emptyDir")?;
            }
        }
        for sysctl in pod["securityContext"]["sysctls"].as_array().into_iter().flatten() {
            let safe: Allowed = |value| value.as_str().is_some_and(|name| SYSCTLS.contains(&name));
            self.restricted("spec.securityContext.sysctls", &sysctl["name"], safe, "only safe ones may be set")?;
        }
        self.context("spec.securityContext", &pod["securityContext"])?;
        for list in ["containers", "initContainers"] {
            for container in pod[list].as_array().into_iter().flatten() {
                self.container(&format!("spec.{list}[{}]", name(container)), container)?;
            }
        }
        match pod["ephemeralContainers"].is_null() {
            true => Ok(()),
            false => self.refuse("spec.ephemeralContainers", "they are for running pods: use kubectl debug"),
        }
    }

    fn container(&self, path: &str, container: &Value) -> Result<(), Refusal> {
        if name(container).is_empty() {
            return self.refuse(path, "a container has a name");
        }
        if name(container) == self.part {
            self.program(path, container)?;
        } else if container["image"].as_str().unwrap_or_default().is_empty() {
            let problem = format!("an added container has an image; the one of the program is called {}", self.part);
            return self.refuse(path, problem);
        }
        for port in container["ports"].as_array().into_iter().flatten() {
            self.restricted(&format!("{path}.ports.hostPort"), &port["hostPort"], |port| *port == 0, "leave it out")?;
        }
        let context = &container["securityContext"];
        let within = |name: &str| format!("{path}.securityContext.{name}");
        for name in ["privileged", "allowPrivilegeEscalation"] {
            self.restricted(&within(name), &context[name], |value| *value == false, "leave it out, or say false")?;
        }
        let drops: Allowed = |value| value.as_array().is_some_and(|all| all.iter().any(|one| one == "ALL"));
        self.restricted(&within("capabilities.drop"), &context["capabilities"]["drop"], drops, "drop ALL")?;
        let adds: Allowed = |value| value.as_array().is_some_and(|all| all.iter().all(|one| one == "NET_BIND_SERVICE"));
        let add = &context["capabilities"]["add"];
        self.restricted(&within("capabilities.add"), add, adds, "only NET_BIND_SERVICE may be added")?;
        self.restricted(&within("procMount"), &context["procMount"], |value| value == "Default", "leave it out")?;
        self.context(&format!("{path}.securityContext"), context)
    }

    /// What a pod and a container have in common.
    fn context(&self, path: &str, context: &Value) -> Result<(), Refusal> {
        let within = |name: &str| format!("{path}.{name}");
        self.restricted(&within("runAsNonRoot"), &context["runAsNonRoot"], |value| *value == true, "leave it out")?;
        self.restricted(&within("runAsUser"), &context["runAsUser"], |user| *user != 0, "no container runs as root")?;
        let confined: Allowed = |kind| kind == "RuntimeDefault" || kind == "Localhost";
        for profile in ["seccompProfile", "appArmorProfile"] {
            let instead = "use RuntimeDefault or Localhost";
            self.restricted(&within(profile), &context[profile]["type"], confined, instead)?;
        }
        let selinux = &context["seLinuxOptions"];
        let plain: Allowed = |value| value == "";
        for part in ["user", "role"] {
            self.restricted(&within(&format!("seLinuxOptions.{part}")), &selinux[part], plain, "leave it out")?;
        }
        let of_containers: Allowed = |value| SELINUX_TYPES.iter().any(|kind| value == kind);
        self.restricted(&within("seLinuxOptions.type"), &selinux["type"], of_containers, "leave it out")?;
        let of_host = &context["windowsOptions"]["hostProcess"];
        self.restricted(&within("windowsOptions.hostProcess"), of_host, |value| *value == false, "leave it out")?;
        Ok(())
    }

    fn program(&self, path: &str, container: &Value) -> Result<(), Refusal> {
        if let Some((name, problem)) = OF_THE_PROGRAM.iter().find(|(name, _)| !is_empty(&container[name])) {
            return self.refuse(&format!("{path}.{name}"), format!("leave it out: {problem}"));
        }
        let variables = container["env"].as_array().into_iter().flatten().map(name);
        match variables.into_iter().find(|name| RESERVED.contains(name)) {
            Some(variable) => self.refuse(&format!("{path}.env[{variable}]"), "the operator sets this variable"),
            None => Ok(()),
        }
    }
}

fn name(value: &Value) -> &str {
    value["name"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::build::desired;
    use crate::testing::planned;
    use crate::validate::Plan;
    use serde_json::{Value, json};

    fn with(template: Value) -> Result<Plan, String> {
        planned(json!({"rank": {"pod": {"template": template}}})).map_err(|refusal| refusal.to_string())
    }

    /// The pod of the rank servers.
    fn pod(template: Value) -> Value {
        let children = desired(&with(template).unwrap());
        let found = children.iter().find(|child| child.name() == "Deployment shop-rank").unwrap();
        found.object.data["spec"]["template"].clone()
    }

    #[test]
    fn a_template_is_merged_over_the_pods_of_its_part() {
        let affinity = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}},
        ]}});
        let merged = pod(json!({
            "metadata": {"annotations": {"team": "search"}},
            "spec": {
                "affinity": affinity,
                "runtimeClassName": "gvisor",
                "dnsConfig": {"options": [{"name": "ndots", "value": "1"}]},
                "initContainers": [{"name": "proxy", "image": "proxy:1", "restartPolicy": "Always"}],
                "containers": [
                    {"name": "rank", "resources": {"requests": {"ephemeral-storage": "1Gi"}}, "env": [{"name": "A", "value": "1"}]},
                    {"name": "log", "image": "log:1"},
                ],
            },
        }));
        let spec = &merged["spec"];
        assert_eq!(merged["metadata"]["annotations"]["team"], "search");
        assert_eq!((&spec["affinity"], &spec["runtimeClassName"]), (&affinity, &json!("gvisor")));
        assert_eq!(spec["dnsConfig"]["options"][0]["name"], "ndots");
        let rank = &spec["containers"][0];
        assert_eq!(
            rank["resources"]["requests"],
            json!({"cpu": "250m", "memory": "256Mi", "ephemeral-storage": "1Gi"})
        );
        let variables: Vec<_> =
            rank["env"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert!(variables.contains(&"A") && variables.contains(&"SERVICE_CONFIG"), "{variables:?}");
        for added in [&spec["containers"][1], &spec["initContainers"][0]] {
            let context = &added["securityContext"];
            assert_eq!(context["allowPrivilegeEscalation"], false, "{added}");
            assert_eq!(context["capabilities"]["drop"], json!(["ALL"]), "{added}");
        }
    }

    #[test]
    fn the_removal_of_data_takes_no_sidecars_along() {
        let plan =
            with(json!({"spec": {"runtimeClassName": "gvisor", "containers": [{"name": "log", "image": "log:1"}]}}));
        let purge = crate::build::purge(&plan.unwrap());
        let spec = &purge.object.data["spec"]["template"]["spec"];
        assert_eq!((spec["containers"].as_array().unwrap().len(), &spec["runtimeClassName"]), (1, &json!("gvisor")));
    }

    #[test]
    fn what_goes_too_far_is_refused_with_its_place() {
        let container = |more: Value| {
            let mut container = json!({"name": "log", "image": "log:1"});
            container.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"spec": {"containers": [container]}})
        };
        let context = |context: Value| container(json!({"securityContext": context}));
        let program = |more: Value| json!({"spec": {"containers": [more]}});
        let cases = [
            (json!({"spec": {"nodeSelectr": {"a": "b"}}}), ".spec.nodeSelectr: a pod template has no such field"),
            (json!({"spec": {"containers": "x"}}), ": is not a pod template: "),
            (json!({"metadata": {"name": "x"}}), ".metadata.name: only labels and annotations"),
            (
                json!({"metadata": {"labels": {"app.kubernetes.io/name": "x"}}}),
                ".metadata.labels[app.kubernetes.io/name]: the operator",
            ),
            (json!({"spec": {"hostNetwork": true}}), ".spec.hostNetwork: true breaks the restricted"),
            (json!({"spec": {"restartPolicy": "Never"}}), ".spec.restartPolicy: leave it out"),
            (json!({"spec": {"serviceAccountName": "x"}}), "spec.serviceAccount is for that"),
            (
                json!({"spec": {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]}}),
                ".spec.volumes[root].hostPath: ",
            ),
            (json!({"spec": {"securityContext": {"runAsUser": 0}}}), ".spec.securityContext.runAsUser: 0 breaks"),
            (json!({"spec": {"securityContext": {"sysctls": [{"name": "kernel.x", "value": "1"}]}}}), "only safe ones"),
            (context(json!({"seLinuxOptions": {"type": "spc_t"}})), "seLinuxOptions.type: \"spc_t\" breaks"),
            (context(json!({"windowsOptions": {"hostProcess": true}})), "windowsOptions.hostProcess: true breaks"),
            (
                json!({"metadata": {"annotations": {"container.apparmor.security.beta.kubernetes.io/log": "unconfined"}}}),
                "use securityContext.appArmorProfile",
            ),
            (
                program(json!({"name": "rank", "livenessProbe": {"httpGet": {"path": "/health"}}})),
                ".livenessProbe.httpGet.port: is needed",
            ),
            (context(json!({"privileged": true})), ".spec.containers[log].securityContext.privileged: true breaks"),
            (context(json!({"capabilities": {"add": ["SYS_ADMIN"]}})), "only NET_BIND_SERVICE"),
            (context(json!({"capabilities": {"drop": ["CHOWN"]}})), "drop ALL"),
            (context(json!({"seccompProfile": {"type": "Unconfined"}})), "use RuntimeDefault or Localhost"),
            (container(json!({"ports": [{"containerPort": 1, "hostPort": 1}]})), ".ports.hostPort: 1 breaks"),
            (program(json!({"name": "log"})), "an added container has an image; the one of the program is called rank"),
            (
                program(json!({"name": "rank", "image": "other:1"})),
                ".spec.containers[rank].image: leave it out: pod.image",
            ),
            (
                program(json!({"name": "rank", "env": [{"name": "SERVICE_CONFIG", "value": "x"}]})),
                "[SERVICE_CONFIG]: the operator",
            ),
        ];
        for (template, expected) in cases {
            let refusal = with(template.clone()).err();
            let refusal = refusal.unwrap_or_else(|| panic!("{template} was taken"));
            assert!(
                refusal.starts_with("spec.rank.pod.template") && refusal.contains(expected),
                "{template}: {refusal}"
            );
        }
    }
}
