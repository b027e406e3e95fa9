//! `serve`: answers requests over the state and the models there are.

use crate::evaluator::Evaluator;
use crate::options::ServeOptions;
use crate::trainer::Trainer;
use anyhow::Result;
use rankwright_assembly::{Engine, Service, configuration_with_text, is_stream, listen, open_on, runtime};
use std::sync::Arc;
use tracing::info;

/// Serves until told to stop.
pub(crate) fn run(options: &ServeOptions) -> Result<()> {
    let (config, told) = configuration_with_text(options.config.as_deref())?;
    let follows = config.source.clone().filter(is_stream);
    if config.source.is_some() && follows.is_none() {
        info!("source: files are read by 'import'; 'serve' takes events at /feedback");
    }
    let runtime = runtime()?;
    let Some((runtime, engine, begun)) = open_on(runtime, config, Some(true))? else {
        return Ok(()); // told to stop while it waited
    };
    let (engine, begun) = (Arc::new(engine), Some(begun));
    runtime.block_on(listen(engine.clone(), Service { follows, begun, told, ..service(engine) }))
}

/// All that this program can do.
pub(crate) fn service(engine: Arc<Engine>) -> Service {
    let evaluation: Arc<dyn rankwright_serve::Evaluation> = Arc::new(Evaluator::new(engine.clone()));
    let training: Arc<dyn rankwright_serve::Training> = Arc::new(Trainer::new(engine));
    let (training, evaluation) = (Some(training), Some(evaluation));
    Service { ranks: true, page: true, feedback: true, closes: true, training, evaluation, ..Service::default() }
}
