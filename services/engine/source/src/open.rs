//! Opens the stream that a configuration names. Their clients are a feature of the crate, `streams`.

use crate::{Error, Leases, Stream, StreamSettings};
#[cfg(feature = "streams")]
use crate::{Kafka, Kinesis, Pulsar, kafka, pulsar};
use rankwright_config::{SourceConfig, SourceKind};
use std::sync::Arc;

/// Looks at what of a source its client alone knows, before anything else is done; what to warn of.
///
/// # Errors
/// With the first option that there is not, or whose value is none; where this program has no clients of streams.
pub fn check(source: &SourceConfig) -> Result<Vec<String>, Error> {
    match &source.kind {
        SourceKind::File { .. } => Ok(Vec::new()),
        #[cfg(feature = "streams")]
        SourceKind::Kafka { options, .. } => Ok(kafka::check_all(options)?),
        #[cfg(feature = "streams")]
        SourceKind::Pulsar { options, .. } => Ok(pulsar::check_all(options)?),
        #[cfg(feature = "streams")]
        SourceKind::Kinesis { .. } => Ok(Vec::new()),
        #[cfg(not(feature = "streams"))]
        _ => Err(Error::NotBuilt),
    }
}

/// A stream as it goes on, shared with the other holders of `leases`; without them, what there is of it now.
///
/// # Errors
/// When the configuration of its client is wrong, or the source is no stream.
#[cfg(feature = "streams")]
pub fn open(
    source: &SourceConfig,
    settings: StreamSettings,
    leases: Option<Arc<dyn Leases>>,
) -> Result<Box<dyn Stream>, Error> {
    Ok(match (&source.kind, leases) {
        (SourceKind::Kafka { .. }, Some(_)) => Box::new(Kafka::open(source, settings)?),
        (SourceKind::Kafka { .. }, None) => Box::new(Kafka::bounded(source, settings)?),
        (SourceKind::Pulsar { .. }, Some(_)) => Box::new(Pulsar::open(source, settings)?),
        (SourceKind::Pulsar { .. }, None) => Box::new(Pulsar::bounded(source, settings)?),
        (SourceKind::Kinesis { .. }, Some(leases)) => Box::new(Kinesis::open(source, settings, leases)?),
        (SourceKind::Kinesis { .. }, None) => Box::new(Kinesis::bounded(source, settings)?),
        (SourceKind::File { .. }, _) => return Err(Error::NoStream),
    })
}

/// Refuses: this program has no clients of streams.
///
/// # Errors
/// Always.
#[cfg(not(feature = "streams"))]
pub fn open(_: &SourceConfig, _: StreamSettings, _: Option<Arc<dyn Leases>>) -> Result<Box<dyn Stream>, Error> {
    Err(Error::NotBuilt)
}
