//! What the environment says, by OpenTelemetry's names.

use crate::sampler::Sampler;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use std::time::Duration;

/// How long a collector may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The only protocol there is here.
const PROTOCOL: &str = "http/json";

/// Where spans are sent, and which.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The collector.
    pub endpoint: Uri,
    /// Headers for it, such as one with a key.
    pub headers: HeaderMap,
    /// How long it may take to answer.
    pub timeout: Duration,
    /// What the program is called, and more about it.
    pub resource: Vec<(String, String)>,
    /// Which traces are recorded.
    pub sampler: Sampler,
}

/// Where variables come from.
type Variables<'v> = &'v dyn Fn(&str) -> Option<String>;

impl Settings {
    /// From variables of the environment; `None` where no collector is named, or traces are turned off. With what is wrong with
    /// them, or not done as they say: each is ignored, except that without a valid endpoint nothing is sent.
    ///
    /// `program` is what the program is called where no variable says so.
    pub fn of(variables: Variables<'_>, program: &str) -> (Option<Self>, Vec<String>) {
        let get = |name: &str| variables(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let mut warnings = Vec::new();
        if get("OTEL_SDK_DISABLED").is_some_and(|off| off.eq_ignore_ascii_case("true"))
            || get("OTEL_TRACES_EXPORTER").is_some_and(|exporter| exporter == "none")
        {
            return (None, warnings);
        }
        let Some(endpoint) = endpoint(&get, &mut warnings) else { return (None, warnings) };
        complain(&get, &mut warnings);
        let sampler = sampler(&get, &mut warnings);
        let headers = headers(&get, &mut warnings);
        let timeout = timeout(&get, &mut warnings);
        let resource = resource(&get, program);
        (Some(Self { endpoint, headers, timeout, resource, sampler }), warnings)
    }
}

/// The variable of traces alone, or the one of all signals.
fn either(get: Variables<'_>, rest: &str) -> Option<(String, String)> {
    let names = [format!("OTEL_EXPORTER_OTLP_TRACES_{rest}"), format!("OTEL_EXPORTER_OTLP_{rest}")];
    names.into_iter().find_map(|name| get(&name).map(|value| (name, value)))
}

fn endpoint(get: Variables<'_>, warnings: &mut Vec<String>) -> Option<Uri> {
    let (name, text) = either(get, "ENDPOINT")?;
    let own = name.contains("TRACES");
    let address = if own { text.clone() } else { format!("{}/v1/traces", text.trim_end_matches('/')) };
    let valid = |uri: &Uri| uri.host().is_some() && matches!(uri.scheme_str(), Some("http" | "https"));
    let uri = address.parse::<Uri>().ok().filter(valid);
    if uri.is_none() {
        let example = if own { "http://collector:4318/v1/traces" } else { "http://collector:4318" };
        warnings.push(format!("{name} is no address such as {example}: no traces are sent"));
    }
    uri
}

/// What is accepted and not done.
fn complain(get: Variables<'_>, warnings: &mut Vec<String>) {
    if let Some((name, protocol)) = either(get, "PROTOCOL").filter(|(_, protocol)| protocol != PROTOCOL) {
        let port = if protocol == "grpc" {
            "; the endpoint has to be the collector's for HTTP, usually port 4318"
        } else {
            ""
        };
        warnings.push(format!("{name} is {protocol:?}: traces are sent as {PROTOCOL}{port}"));
    }
    if let Some((name, way)) = either(get, "COMPRESSION").filter(|(_, way)| way != "none") {
        warnings.push(format!("{name} is {way:?}: traces are sent without compression"));
    }
    if let Some((name, _)) = either(get, "CERTIFICATE") {
        warnings.push(format!("{name} is ignored: the authorities that the system trusts are trusted (SSL_CERT_FILE)"));
    }
    if let Some(other) = get("OTEL_TRACES_EXPORTER").filter(|exporter| exporter != "otlp") {
        warnings.push(format!("OTEL_TRACES_EXPORTER is {other:?}, expected otlp or none: traces are sent as otlp"));
    }
}

fn sampler(get: Variables<'_>, warnings: &mut Vec<String>) -> Sampler {
    let part = get("OTEL_TRACES_SAMPLER_ARG").map_or(1.0, |text| {
        let part = text.parse::<f64>().ok().filter(|part| (0.0..=1.0).contains(part));
        part.unwrap_or_else(|| {
            warnings
                .push(format!("OTEL_TRACES_SAMPLER_ARG is {text:?}, expected a number from 0 to 1: it is taken as 1"));
            1.0
        })
    });
    let Some(name) = get("OTEL_TRACES_SAMPLER") else { return Sampler::default() };
    Sampler::named(&name, part).unwrap_or_else(|| {
        warnings.push(format!(
            "OTEL_TRACES_SAMPLER is {name:?}, expected always_on, always_off or traceidratio, with or without parentbased_ \
             before it: it is taken as parentbased_always_on"
        ));
        Sampler::default()
    })
}

/// Keys and values of a list, as `key1=value1,key2=value2` with signs in percent encoding.
fn pairs(list: &str) -> impl Iterator<Item = Option<(String, String)>> {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(|entry| {
        let (key, value) = entry.split_once('=')?;
        Some((decoded(key.trim())?, decoded(value.trim())?))
    })
}

fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let sign = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(sign, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

/// Values of headers are secrets, and not told.
fn headers(get: Variables<'_>, warnings: &mut Vec<String>) -> HeaderMap {
    let Some((variable, list)) = either(get, "HEADERS") else { return HeaderMap::new() };
    let mut headers = HeaderMap::new();
    for (place, pair) in pairs(&list).enumerate() {
        let header = pair.and_then(|(name, value)| {
            let mut value = HeaderValue::from_str(&value).ok()?;
            value.set_sensitive(true);
            Some((name.parse::<HeaderName>().ok()?, value))
        });
        match header {
            Some((name, value)) => drop(headers.insert(name, value)),
            None => warnings.push(format!("{variable}: entry {} is no NAME=VALUE of a header", place + 1)),
        }
    }
    headers
}

fn timeout(get: Variables<'_>, warnings: &mut Vec<String>) -> Duration {
    let Some((name, text)) = either(get, "TIMEOUT") else { return PATIENCE };
    match text.parse::<u64>() {
        Ok(millis) if millis > 0 => Duration::from_millis(millis),
        _ => {
            warnings.push(format!("{name} is {text:?}, expected milliseconds: it is taken as 10000"));
            PATIENCE
        }
    }
}

/// What describes the program; a service name of its own comes first.
fn resource(get: Variables<'_>, program: &str) -> Vec<(String, String)> {
    const NAME: &str = "service.name";
    let list = get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let given: Vec<(String, String)> = pairs(&list).flatten().collect();
    let named = given.iter().find(|(key, _)| key == NAME).map(|(_, value)| value.clone());
    let name = get("OTEL_SERVICE_NAME").or(named).unwrap_or_else(|| program.to_owned());
    let rest = given.into_iter().filter(|(key, _)| key != NAME);
    std::iter::once((NAME.to_owned(), name)).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> (Option<Settings>, Vec<String>) {
        let variable =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Settings::of(&variable, "rank-server")
    }

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");

    #[test]
    fn nothing_is_sent_where_no_collector_is_named_or_traces_are_turned_off() {
        assert!(of(&[]).0.is_none());
        assert!(of(&[("OTEL_SERVICE_NAME", "shop"), ("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]).0.is_none());
        for off in [("OTEL_SDK_DISABLED", "TRUE"), ("OTEL_TRACES_EXPORTER", "none")] {
            let (settings, warnings) = of(&[ENDPOINT, off]);
            assert!(settings.is_none() && warnings.is_empty());
        }
        let (settings, warnings) = of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")]);
        assert!(settings.is_none());
        assert_eq!(
            warnings,
            ["OTEL_EXPORTER_OTLP_ENDPOINT is no address such as http://collector:4318: no traces are sent"]
        );
    }

    #[test]
    fn an_address_of_traces_is_taken_as_it_is_and_one_of_all_signals_gets_a_path() {
        let endpoint = |variables: &[_]| of(variables).0.expect("a collector").endpoint.to_string();
        assert_eq!(endpoint(&[ENDPOINT]), "http://collector:4318/v1/traces");
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces.example/in");
        assert_eq!(endpoint(&[ENDPOINT, own]), "https://traces.example/in");
    }

    #[test]
    fn headers_and_names_are_read_in_percent_encoding() {
        let (settings, warnings) = of(&[
            ENDPOINT,
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20abc==, x-team = search,broken"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=a%2Cb,service.name=shop"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
        ]);
        let settings = settings.expect("a collector");
        assert_eq!(
            (&settings.headers["authorization"], &settings.headers["x-team"]),
            (&"Basic abc==".parse().expect("a value"), &"search".parse().expect("a value"))
        );
        assert_eq!(settings.timeout, Duration::from_millis(250));
        let resource = [("service.name", "shop"), ("deployment.environment", "a,b")];
        assert_eq!(settings.resource, resource.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(warnings, ["OTEL_EXPORTER_OTLP_HEADERS: entry 3 is no NAME=VALUE of a header"]);
        let name = |variables: &[_]| of(variables).0.expect("a collector").resource[0].1.clone();
        assert_eq!(name(&[ENDPOINT]), "rank-server");
        assert_eq!(
            name(&[ENDPOINT, ("OTEL_SERVICE_NAME", "mine"), ("OTEL_RESOURCE_ATTRIBUTES", "service.name=x")]),
            "mine"
        );
    }

    #[test]
    fn samplers_have_their_names_and_a_wrong_one_is_told() {
        let sampler = |name, part| {
            let (settings, warnings) =
                of(&[ENDPOINT, ("OTEL_TRACES_SAMPLER", name), ("OTEL_TRACES_SAMPLER_ARG", part)]);
            (settings.expect("a collector").sampler, warnings.len())
        };
        assert_eq!(sampler("parentbased_traceidratio", "0.25"), (Sampler::of(0.25, true), 0));
        assert_eq!(sampler("traceidratio", "0.25"), (Sampler::of(0.25, false), 0));
        assert_eq!(sampler("traceidratio", "25 %"), (Sampler::of(1.0, false), 1));
        assert_eq!(sampler("traceidratio", "1.5"), (Sampler::of(1.0, false), 1));
        assert_eq!(sampler("xray", "0.25"), (Sampler::default(), 1));
    }

    #[test]
    fn what_is_accepted_and_not_done_is_told() {
        let (settings, warnings) = of(&[
            ENDPOINT,
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem"),
            ("OTEL_TRACES_EXPORTER", "zipkin"),
        ]);
        assert!(settings.is_some());
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert!(warnings[0].contains("sent as http/json; the endpoint has to be"), "{}", warnings[0]);
        let (_, warnings) =
            of(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"), ("OTEL_TRACES_EXPORTER", "otlp")]);
        assert!(warnings.is_empty(), "{warnings:?}");
    }
}
