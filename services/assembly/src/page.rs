//! What the page for browsers gets of an engine.

use crate::engine::{Engine, Told};
use crate::forget::Forgetter;
use rankwright_serve::Evaluation;
use rankwright_serve::front::{Front, StoredAs};
use std::sync::Arc;

/// The page over an engine, whose configuration says this.
pub(crate) fn front(engine: &Arc<Engine>, mut told: Told, evaluation: Option<Arc<dyn Evaluation>>) -> Front {
    let mut front = Front::new(rankwright_console::router(&engine.config.api.page.image_origins));
    let stored = engine.plan.stored().iter().map(|stored| StoredAs {
        slot: stored.slot,
        name: stored.name.clone(),
        features: engine.plan.readers().get(&stored.meaning).cloned().unwrap_or_default(),
    });
    front.stored = stored.collect();
    front.versions = engine.versions.clone();
    front.forget = Some(Arc::new(Forgetter::over(engine.clone())));
    front.evaluation = evaluation;
    told.shown.fill(&["api", "page", "enabled"], true.into()); // the program decides where the text says nothing, and here it is on
    (front.configuration, front.warnings) = (told.shown, told.warnings);
    front
}
