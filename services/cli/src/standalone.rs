//! `standalone`: import, train and serve in one process.

use crate::options::ImportOptions;
use crate::{import, serve, train, validate};
use anyhow::{Result, bail};
use rankwright_assembly::{Begun, Engine, Service, chain, configuration_with_text, is_stream, listen, runtime};
use std::sync::Arc;
use tracing::warn;

/// Reads events and trains all models, then answers requests.
pub(crate) fn run(options: &ImportOptions) -> Result<()> {
    if options.rebuild {
        bail!("--rebuild is for 'import': run 'import --rebuild', then 'train' and 'serve'");
    }
    let (config, told) = configuration_with_text(options.source.config.as_deref())?;
    let runtime = runtime()?;
    let importing = options.validation.then(|| validate::before(&config, &options.source, &runtime)).transpose()?;
    let engine = Arc::new(runtime.block_on(Engine::open(config))?);
    engine.check_encoders()?;
    let begun = Some(runtime.block_on(Begun::at_work(&engine))?);
    if let Some(problem) = import::read(&engine, options, &runtime)? {
        warn!("{problem}");
    }
    let names: Vec<String> = train::trainable(&engine).map(|(name, _)| name.clone()).collect();
    for name in names {
        let span = engine.training_span(&name);
        if let Err(error) = train::one(&engine, &name) {
            span.fail(&error);
            warn!(model = name, "not trained, requests are answered without it: {}", chain(&error));
        }
    }
    drop(importing); // the service ends well by itself
    let follows = engine.config.source.clone().filter(is_stream).filter(|_| options.source.data.is_none());
    runtime.block_on(listen(engine.clone(), Service { follows, begun, told, ..serve::service(engine) }))
}
