//! What Argo CD and kstatus (Flux, `kubectl` plugins) make of a status: the one by the script of manifests/argocd, the other by
//! rules of its own.

use super::*;
use std::process::Command;

/// The resource as the API server gives it: of this generation, with a status of the third one.
fn object(generation: i64, status: &RankingServiceStatus) -> Value {
    json!({"metadata": {"name": "shop", "generation": generation}, "status": status})
}

/// A value as a program in Lua writes it.
fn lua(value: &Value) -> String {
    let text = |text: &str| {
        let byte =
            |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("\\{byte:03}") };
        format!("\"{}\"", text.bytes().map(byte).collect::<String>())
    };
    match value {
        Value::Null => "nil".to_owned(),
        Value::String(string) => text(string),
        Value::Array(list) => format!("{{{}}}", list.iter().map(lua).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("[{}] = {}", text(key), lua(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// What Argo CD shows, by the script that it is given; nothing, and a line that says so, where there is no Lua.
fn health(object: &Value) -> Option<String> {
    let script = std::fs::read_to_string("../manifests/argocd/rankingservice.lua").unwrap();
    let checked = format!("obj = {}\nlocal function check()\n{script}\nend\nio.write(check().status)", lua(object));
    let ran = Command::new("lua5.4").args(["-e", &checked]).output();
    let Ok(ended) = ran else {
        assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "there is no lua5.4");
        println!("SKIPPED: there is no lua5.4");
        return None;
    };
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    Some(String::from_utf8(ended.stdout).unwrap())
}

/// What kstatus makes of a resource of a kind that it does not know: `Compute` of sigs.k8s.io/cli-utils, `pkg/kstatus/status`.
fn kstatus(object: &Value) -> &'static str {
    let status = &object["status"];
    let is = |kind: &str, wanted: &str| {
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        conditions.any(|condition| condition["type"] == kind && condition["status"] == wanted)
    };
    let observed = &status["observedGeneration"];
    match () {
        () if !object["metadata"]["deletionTimestamp"].is_null() => "Terminating",
        () if !observed.is_null() && *observed != object["metadata"]["generation"] => "InProgress",
        () if is("Reconciling", "True") => "InProgress",
        () if is("Stalled", "True") => "Failed",
        () if is("Ready", "False") || is("Ready", "Unknown") => "InProgress",
        () => "Current",
    }
}

fn refused(refusal: Refusal) -> RankingServiceStatus {
    not_carried_out(&service(json!({})), &Error::Refused(refusal), &saying("v1"))
}

#[test]
fn argo_cd_and_kstatus_take_each_status_for_what_it_is() {
    let rank = |rank: Deployment| told(json!({}), &Workloads { rank: Some(rank), ..working() }, &saying("v1"));
    let mut stuck = deployment(2, 1, 3, 2);
    let condition = json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"});
    stuck.status.as_mut().unwrap().conditions = Some(vec![serde_json::from_value(condition).unwrap()]);
    let mut away = saying("v1");
    away.heard.said[0].store.answers = false;
    let missing = Refusal::Missing {
        kind: crate::resolve::Kind::Secret,
        object: "Secret redis".to_owned(),
        namespace: "search".to_owned(),
        field: "spec.stateStore.redis.auth".to_owned(),
    };
    let nothing = RankingServiceStatus::default();
    let ready = rank(deployment(2, 2, 2, 2));
    for (what, object, of_argo, of_kstatus) in [
        ("ready", object(3, &ready), "Healthy", "Current"),
        ("of an earlier generation", object(4, &ready), "Progressing", "InProgress"),
        ("rolling out", object(3, &rank(deployment(2, 1, 3, 2))), "Progressing", "InProgress"),
        ("stuck", object(3, &rank(stuck)), "Degraded", "Failed"),
        ("refused", object(3, &refused(Refusal::Configuration("\"topp\"".to_owned()))), "Degraded", "Failed"),
        ("waiting for a Secret", object(3, &refused(missing)), "Progressing", "InProgress"),
        ("scaled to 0", object(3, &rank(deployment(0, 0, 0, 0))), "Suspended", "InProgress"),
        ("without its store", object(3, &told(json!({}), &working(), &away)), "Degraded", "InProgress"),
        ("not told of", object(3, &nothing), "Progressing", "Current"),
    ] {
        assert_eq!(kstatus(&object), of_kstatus, "{what}: {object}");
        if let Some(health) = health(&object) {
            assert_eq!(health, of_argo, "{what}: {object}");
        }
    }
}
