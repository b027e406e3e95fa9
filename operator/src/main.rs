//! `rankwright-operator`: runs the operator, prints or installs what it manages.

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use rankwright_operator::ask::OverHttp;
use rankwright_operator::claims::Claims;
use rankwright_operator::connection;
use rankwright_operator::controller;
use rankwright_operator::labels::FIELD_MANAGER;
use rankwright_operator::lease::{Candidate, Timing};
use rankwright_operator::logging::{self, Format};
use rankwright_operator::metrics::Metrics;
use rankwright_operator::reconcile::Context;
use rankwright_operator::scope::Scope;
use rankwright_operator::server::{self, Shown};
use rankwright_operator::validate::Defaults;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tracing::{error, info, warn};

/// What giving up claims may take: less than the lease lasts.
const RELEASE: Duration = Duration::from_secs(5);

/// Turns RankingServices into running programs
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the definitions of the resources as YAML
    Crds,
    /// Install the definitions of the resources in the cluster
    Install,
    /// Print the version
    Version,
    /// Run the operator
    Run(RunOptions),
}

#[derive(Debug, Clone, clap::Args)]
struct RunOptions {
    /// Namespaces to watch, separated by commas or each with a flag of its own; default: all
    #[arg(long, env = "WATCH_NAMESPACE", value_delimiter = ',')]
    namespace: Vec<String>,
    /// Image of services that name none
    #[arg(long, env = "RANKWRIGHT_IMAGE")]
    image: String,
    /// User and group that programs run as; empty: the cluster chooses them
    #[arg(long, env = "SERVICE_USER", default_value = "65532")]
    service_user: String,
    /// The operator's own namespace, which holds its Lease
    #[arg(long, env = "POD_NAMESPACE")]
    own_namespace: String,
    /// Name of this process as holder of the Lease; each replica needs another one
    #[arg(long, env = "POD_NAME")]
    identity: String,
    /// Port of /health, /ready and /metrics
    #[arg(long, env = "PORT", default_value_t = 8080)]
    port: u16,
    /// Port on loopback of PUT /log-level
    #[arg(long, env = "LEVEL_PORT", default_value_t = 8081)]
    level_port: u16,
    /// What is logged, such as info, or rankwright_operator=debug,info
    #[arg(long, env = "RUST_LOG", default_value = "info")]
    log_level: String,
    /// How many services get new pods at the same time because the operator has changed, as after its upgrade
    #[arg(long, env = "MAX_ROLLING_SERVICES", default_value = "1")]
    max_rolling_services: NonZeroUsize,
    /// Id of this cluster, which states are marked with, such as the uid of the namespace kube-system. An operator of all
    /// namespaces reads that uid itself
    #[arg(long, env = "CLUSTER_ID")]
    cluster_id: Option<String>,
    /// How the log is written
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t = Format::Text)]
    log_format: Format,
}

fn main() -> ExitCode {
    let options = Options::parse();
    // more than one provider of cryptography is linked in: each program names the one that it uses
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    match start(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(options: Options) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    match options.command {
        Command::Crds => print!("{}", rankwright_crds::yaml()),
        Command::Version => println!("{}", env!("CARGO_PKG_VERSION")),
        Command::Install => runtime.block_on(install())?,
        Command::Run(options) => runtime.block_on(run(options))?,
    }
    Ok(())
}

async fn install() -> Result<()> {
    let client = connection::client().await?;
    let api: Api<CustomResourceDefinition> = Api::all(client);
    let definition = rankwright_crds::definition();
    let name = definition.name_any();
    let ours = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(&name, &ours, &Patch::Apply(&definition)).await.with_context(|| format!("failed to apply {name}"))?;
    println!("{name} is installed");
    Ok(())
}

async fn run(options: RunOptions) -> Result<()> {
    let level = logging::start(&options.log_level, options.log_format)?;
    let user = match options.service_user.as_str() {
        "" => None,
        user => Some(user.parse().with_context(|| format!("--service-user is the number of a user, not {user:?}"))?),
    };
    let client = connection::client().await?;
    let version = client.apiserver_version().await.context("the API server does not answer")?;
    info!(version = env!("CARGO_PKG_VERSION"), kubernetes = version.git_version, "started");
    let metrics = Arc::new(Metrics::new()?);
    let shown = Shown { metrics: metrics.clone(), ready: Arc::new(AtomicBool::new(true)) };
    let ports = tokio::spawn(server::serve(options.port, shown.clone()));
    let level = tokio::spawn(server::serve_level(options.level_port, level));
    let candidate = Candidate::new(client.clone(), &options.own_namespace, options.identity.clone(), Timing::default());
    let candidate = candidate.owned_by_account(client.clone(), &options.own_namespace).await;
    let scopes = Scope::of(&options.namespace);
    let claims = Claims::new(client.clone(), &options.own_namespace, &scopes);
    // one that looks at some namespaces may not read others
    let given = options.cluster_id.filter(|id| !id.is_empty());
    let cluster = match (given, scopes.iter().all(|scope| scope.namespace.is_none())) {
        (Some(given), _) => Some(given),
        (None, true) => connection::cluster_id(&client).await?,
        (None, false) => candidate.known_cluster().await.context("failed to read the operator's Lease")?,
    };
    if cluster.is_none() {
        warn!("states are not marked as this cluster's: give --cluster-id, which is clusterId of the chart");
    }
    let candidate = candidate.labelled(claims.of_leader()).of_cluster(cluster.clone());
    let stop = Arc::new(Notify::new());
    let signal = stopped();
    let mut signal = std::pin::pin!(signal);
    let acquired = tokio::select! {
        acquired = candidate.acquire() => acquired,
        () = &mut signal => return Ok(()),
        ended = ports => anyhow::bail!("the port of /health has ended: {ended:?}"),
        ended = level => anyhow::bail!("the port of /log-level has ended: {ended:?}"),
    };
    let defaults = Defaults { image: options.image, namespace: Some(options.own_namespace), user, cluster };
    let ctx = Context::new(client, Arc::new(OverHttp::default()), metrics, defaults);
    let ctx = ctx.rolling_at_most(options.max_rolling_services.get()).looking_at(&options.namespace);
    let ctx = Arc::new(ctx);
    let claims = Arc::new(claims);
    let claiming = tokio::spawn(claims.clone().keep());
    let keep = candidate.keep(acquired);
    let mut keep = std::pin::pin!(keep);
    let working = controller::run(ctx, stop.clone());
    let mut working = std::pin::pin!(working);
    tokio::select! {
        () = &mut working => anyhow::bail!("the controller has ended"),
        // the new leader must not be disturbed: end at once
        () = &mut keep => {
            error!("no longer leading");
            anyhow::bail!("the lease was lost");
        }
        () = &mut signal => {}
    }
    info!("stopping");
    claiming.abort();
    shown.ready.store(false, Ordering::Relaxed);
    stop.notify_one();
    tokio::select! {
        () = &mut working => {
            // before a successor writes its own, which waits for the lease, and while that is still held
            if tokio::time::timeout(RELEASE, claims.release()).await.is_err() {
                warn!("the claims of namespaces were not given up in time: they end by themselves");
            }
            candidate.release().await;
        }
        () = &mut keep => error!("the lease was lost"), // nor is another one disturbed by the last writes
    }
    Ok(())
}

/// Ready when the process is told to end.
async fn stopped() {
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}
