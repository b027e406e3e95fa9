//! Files of models that lie in a bucket or in the web.

use super::web;
use crate::remote::Place;
use futures_util::future::BoxFuture;
use rankwright_encoder::{Fetch, FetchError, Object};
use rankwright_object::{Bytes, Runner};
use std::io::Write;
use std::sync::OnceLock;
use tokio::sync::mpsc;

/// Pieces of a file that may wait to be written.
const PIECES: usize = 8;

/// Reads buckets and the web, from threads that may be blocked.
#[derive(Default)]
pub(super) struct Elsewhere {
    runner: OnceLock<Runner>,
}

/// Where pieces of a file go; `None` for one that is not there.
pub(super) type Pieces = mpsc::Sender<Result<Option<Bytes>, FetchError>>;

impl Elsewhere {
    fn runner(&self) -> Result<&Runner, FetchError> {
        if let Some(runner) = self.runner.get() {
            return Ok(runner);
        }
        let started = Runner::start()?;
        Ok(self.runner.get_or_init(|| started))
    }
}

impl Fetch for Elsewhere {
    fn list(&self, address: &str) -> Result<Vec<Object>, FetchError> {
        let address = address.to_owned();
        self.runner()?.wait(async move {
            let place = Place::under(&address).map_err(|error| error.to_string())?;
            let bucket = place.connect().await;
            let listed = bucket.list(place.key).await?;
            let object =
                |object: rankwright_object::Listed| Object { address: bucket.place(&object.key), size: object.bytes };
            Ok(listed.into_iter().map(object).collect())
        })
    }

    fn get(&self, address: &str, to: &mut dyn Write) -> Result<bool, FetchError> {
        let (sender, mut pieces) = mpsc::channel(PIECES);
        let address = address.to_owned();
        self.runner()?.spawn(async move {
            let outcome = match address.strip_prefix("s3:") {
                Some(_) => of_bucket(&address, &sender).await,
                None => web::get(&address, &sender).await,
            };
            if let Err(error) = outcome {
                let _ = sender.send(Err(error)).await; // fails only if the reader has gone
            }
        });
        // the first piece may be empty, so that an empty file is told from none
        let mut found = false;
        while let Some(piece) = pieces.blocking_recv() {
            let Some(piece) = piece? else { return Ok(false) };
            found = true;
            to.write_all(&piece)?;
        }
        if found { Ok(true) } else { Err("nothing came".into()) }
    }
}

fn of_bucket<'a>(address: &'a str, to: &'a Pieces) -> BoxFuture<'a, Result<(), FetchError>> {
    Box::pin(async move {
        let place = Place::of(address).map_err(|error| error.to_string())?;
        let Some(mut body) = place.connect().await.read(place.key).await? else {
            return Ok(to.send(Ok(None)).await?);
        };
        to.send(Ok(Some(Bytes::new()))).await?;
        while let Some(piece) = body.piece().await? {
            to.send(Ok(Some(piece))).await?;
        }
        Ok(())
    })
}
