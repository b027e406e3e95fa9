//! Which image each part runs, and in which order they change.

use super::Defaults;
use crate::resolve::{Resolved, Rollout};
use rankwright_crds::RankingServiceSpec;
use rankwright_crds::ranking_service::PodOptions;

/// The image of each part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Images {
    /// Of the rank servers.
    pub rank: String,
    /// Of the ingest workers.
    pub ingest: String,
    /// Of trainings.
    pub training: String,
    /// Of imports.
    pub import: String,
    /// Of the removal of data.
    pub purge: String,
}

/// Rank servers get a new image first, because only a newer program reads what a newer one writes. Programs that write the
/// state, or models, keep the old image until no server runs it any more.
///
/// `former` is the image that all rank servers ran last.
pub(super) fn images(
    spec: &RankingServiceSpec,
    resolved: &Resolved,
    defaults: &Defaults,
    former: Option<&str>,
) -> (Images, Option<String>) {
    let whole = spec.image.as_ref().unwrap_or(&defaults.image);
    let of = |options: Option<&PodOptions>| options.and_then(|options| options.image.as_ref()).unwrap_or(whole).clone();
    let training = spec.training.as_ref().map(|training| &training.pod);
    let import = spec.import.as_ref().map(|import| &import.pod);
    let mut images = Images {
        rank: of(Some(&spec.rank.pod)),
        ingest: of(Some(&spec.ingest.pod)),
        training: of(training),
        import: of(import),
        purge: of(Some(&spec.rank.pod)),
    };
    let rolled = resolved.rank.as_ref().is_none_or(|rank| rank.complete && rank.image == images.rank);
    match &resolved.ingest {
        Some(Rollout { image, .. }) if !rolled && *image != images.ingest => {
            let held =
                format!("goes on with {image} until all rank servers run {}, and those before have ended", images.rank);
            let wanted = std::mem::replace(&mut images.ingest, image.clone());
            for other in [&mut images.training, &mut images.import].into_iter().filter(|other| **other == wanted) {
                other.clone_from(image);
            }
            (images, Some(held))
        }
        _ if !rolled => {
            // no worker tells of the image before, as theirs does not change
            let Images { rank, training, import, .. } = &mut images;
            for image in [training, import].into_iter().filter(|image| **image == *rank) {
                former.iter().for_each(|former| (*former).clone_into(image));
            }
            (images, None)
        }
        _ => (images, None),
    }
}
