use super::*;
use rankwright_config::Config;
use rankwright_state::MemoryStore;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Versions of the model `slow` never come; counts looks for those of the other one.
#[derive(Default)]
struct Slow(AtomicUsize);

impl Loader for Slow {
    fn load<'a>(
        &'a self,
        name: &'a str,
        _: &'a config::Model,
        _: Option<&'a Version>,
    ) -> BoxFuture<'a, Result<Found, LoadError>> {
        Box::pin(async move {
            if name == "slow" {
                std::future::pending::<()>().await;
            }
            self.0.fetch_add(1, Ordering::SeqCst);
            Ok(Found::Nothing)
        })
    }

    fn without_version<'a>(&'a self, _: &'a config::Model) -> BoxFuture<'a, Result<Box<dyn Ranker>, LoadError>> {
        Box::pin(async { Err(LoadError::new(std::io::Error::other("there is none"))) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_takes_long_to_get_ready_keeps_no_other_waiting() {
    let model = "{type: lambdamart, backend: {type: xgboost}, weights: {click: 1}, features: [p]}";
    let text =
        format!("features: [{{name: p, type: position, position: 1}}]\nmodels:\n  quick: {model}\n  slow: {model}\n");
    let (config, _) = Config::parse(&text, "test").expect("a configuration");
    let loader = Arc::<Slow>::default();
    let app = App::builder(&config, Arc::<MemoryStore>::default(), loader.clone()).build().expect("is put together");
    let looked = async {
        while loader.0.load(Ordering::SeqCst) < 3 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        () = app.follow() => panic!("it never ends"),
        () = looked => {}
        () = tokio::time::sleep(Duration::from_secs(3600)) => panic!("nobody has looked for a version of the quick one"),
    }
}
