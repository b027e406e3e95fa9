//! A pod has one access key and one address of S3 in its environment, and one token: fields that ask for two are refused, as is what needs a
//! token and has none.

use super::{API_TOKEN, Refusal};
use crate::labels::Component;
use crate::resolve::{Kind, Resolved};
use rankwright_crds::RankingServiceSpec;
use rankwright_crds::ranking_service::{Page, S3Credentials};

pub(super) fn check(spec: &RankingServiceSpec) -> Result<(), Refusal> {
    let s3 = spec.click_through_store.as_ref().and_then(|store| store.s3.as_ref());
    let kinesis = spec.ingest.source.as_ref().and_then(|source| source.kinesis.as_ref());
    let events = spec.import.as_ref().and_then(|import| import.from.s3.as_ref());
    let kept = s3.and_then(|s3| s3.credentials_secret_ref.as_ref());
    let streamed = kinesis.and_then(|kinesis| kinesis.credentials_secret_ref.as_ref());
    let imported = events.and_then(|events| events.credentials_secret_ref.as_ref());
    one_key(kept, streamed, "spec.ingest.source.kinesis.credentialsSecretRef")?;
    one_key(kept.or(streamed), imported, "spec.import.from.s3.credentialsSecretRef")?;
    if let (Some(s3), Some(events)) = (s3, events)
        && s3.endpoint.is_none()
        && events.endpoint.is_some()
    {
        let problem = "click-throughs go to Amazon, and a pod has one address of S3: leave it out, or give clickThroughStore.s3 an endpoint";
        return Err(Refusal::unfit("spec.import.from.s3.endpoint", problem));
    }
    Ok(())
}

/// One token of rank servers, which is a text: without any they would let everybody train.
pub(super) fn token(spec: &RankingServiceSpec, resolved: &Resolved) -> Result<(), Refusal> {
    let Some(named) = &spec.rank.token_secret_ref else { return Ok(()) };
    let pod = &spec.rank.pod;
    let merged = pod.template.as_ref().and_then(|template| template.get("spec")?.get("containers")?.as_array());
    let own = merged.into_iter().flatten().filter(|container| container["name"] == Component::Rank.name());
    let variables = own.filter_map(|container| container["env"].as_array()).flatten();
    let problem = "spec.rank.tokenSecretRef gives the token: leave one of them out";
    if pod.env.iter().any(|one| one.name == API_TOKEN) {
        return Err(Refusal::unfit(format!("spec.rank.pod.env[{API_TOKEN}]"), problem));
    }
    if variables.into_iter().any(|variable| variable["name"] == API_TOKEN) {
        return Err(Refusal::unfit("spec.rank.pod.template.spec.containers", problem));
    }
    let content = resolved.objects.get(&(Kind::Secret, named.name.clone()));
    match content.map(|content| content.text(&named.key).unwrap_or_default().trim().is_empty()) {
        Some(true) => Err(Refusal::unfit(
            "spec.rank.tokenSecretRef",
            format!("key {} of Secret {} holds no text: put a token there", named.key, named.name),
        )),
        _ => Ok(()),
    }
}

/// The page behind an Ingress: its clients come by a proxy, whom servers show nothing without a token.
pub(super) fn page(spec: &RankingServiceSpec) -> Result<(), Refusal> {
    let Some(wanted) = spec.rank.page.as_ref().and_then(Page::way_in) else { return Ok(()) };
    if spec.rank.token_secret_ref.is_none() {
        let problem = "through an Ingress, rank servers answer the page with a token alone: give rank.tokenSecretRef, or leave the Ingress out and use kubectl port-forward";
        return Err(Refusal::unfit("spec.rank.page.ingress", problem));
    }
    match spec.rank.ingress.as_ref().filter(|ingress| ingress.host == wanted.host) {
        Some(_) => Err(Refusal::unfit(
            "spec.rank.page.ingress.host",
            "rank.ingress answers for this host, which others may use: give the page a host of its own",
        )),
        None => Ok(()),
    }
}

/// The access key of another field takes the place of the pods' own identity, for the bucket of click-throughs, too.
pub(super) fn borrowed_key(spec: &RankingServiceSpec) -> Option<String> {
    let s3 = spec.click_through_store.as_ref()?.s3.as_ref().filter(|s3| s3.credentials_secret_ref.is_none())?;
    let kinesis = spec.ingest.source.as_ref().and_then(|source| source.kinesis.as_ref());
    let events = spec.import.as_ref().and_then(|import| import.from.s3.as_ref());
    let streamed = kinesis.and_then(|kinesis| kinesis.credentials_secret_ref.as_ref());
    let imported = events.and_then(|events| events.credentials_secret_ref.as_ref());
    let (pods, key) = match (streamed, imported) {
        (Some(key), _) => ("ingest workers and imports", key),
        (None, Some(key)) => ("imports", key),
        (None, None) => return None,
    };
    Some(format!(
        "spec.clickThroughStore.s3.credentialsSecretRef: is not given, and {pods} have the access key of Secret {}, so they bring click-throughs to bucket {} with that, not with the identity of the service account: see that it may, and name it here, too",
        key.name, s3.bucket
    ))
}

fn one_key(one: Option<&S3Credentials>, other: Option<&S3Credentials>, field: &str) -> Result<(), Refusal> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => {
            let problem = format!(
                "a pod has one access key, and another field names that of Secret {}: name the same, or leave it out",
                one.name
            );
            Err(Refusal::unfit(field, problem))
        }
        _ => Ok(()),
    }
}
