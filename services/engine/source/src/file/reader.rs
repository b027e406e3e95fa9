//! Reading, on one thread or several.

use super::Files;
use super::block::{Block, Blocks};
use super::decode::decode;
use crate::{Batch, Error, Marks};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope};

/// Blocks, and batches, that wait for each decoding thread.
const QUEUE: usize = 2;

/// The batches of some files, in order, read and decoded by the thread that asks for them. Nothing follows an error.
pub struct Reader(Blocks);

impl Iterator for Reader {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|block| block.map(|block| decode(&block)))
    }
}

/// The ends of a queue; errors keep their place in it.
type Inlet<T> = SyncSender<Result<T, Error>>;
type Outlet<T> = Receiver<Result<T, Error>>;

impl Files {
    /// Batches from the start, or `after` what was read before.
    pub fn read(&self, after: Option<&Marks>) -> Result<Reader, Error> {
        Blocks::new(self.clone(), after).map(Reader)
    }

    /// Delivers the same batches in the same order, decoded by `threads` threads while one more reads and decompresses.
    ///
    /// `deliver` runs on the calling thread, and ends reading early by `Break`. With 0 threads the calling thread does
    /// everything.
    pub fn read_parallel<B>(
        &self,
        after: Option<&Marks>,
        threads: usize,
        deliver: impl FnMut(Batch) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        let blocks = Blocks::new(self.clone(), after)?;
        if threads == 0 {
            return deliver_all(Reader(blocks), deliver);
        }
        thread::scope(|scope| {
            let (inlets, outlets): (Vec<_>, Vec<_>) = (0..threads).map(|_| decoder(scope)).unzip();
            scope.spawn(move || feed(blocks, &inlets));
            deliver_all(in_turn(&outlets), deliver)
        })
    }
}

/// Starts a thread that decodes: where blocks go in, and where batches come out.
fn decoder<'scope>(scope: &'scope Scope<'scope, '_>) -> (Inlet<Block>, Outlet<Batch>) {
    let (inlet, blocks): (Inlet<Block>, Outlet<Block>) = sync_channel(QUEUE);
    let (batches, outlet): (Inlet<Batch>, Outlet<Batch>) = sync_channel(QUEUE);
    scope.spawn(move || {
        for block in blocks {
            if batches.send(block.map(|block| decode(&block))).is_err() {
                break; // nobody wants more
            }
        }
    });
    (inlet, outlet)
}

/// Gives each decoder a block in turn, so that taking batches in turn restores the order.
fn feed(blocks: Blocks, inlets: &[Inlet<Block>]) {
    for (block, inlet) in blocks.zip(inlets.iter().cycle()) {
        if inlet.send(block).is_err() {
            break;
        }
    }
}

/// Takes a batch of each decoder in turn; the first that has no more was the last.
fn in_turn(outlets: &[Outlet<Batch>]) -> impl Iterator<Item = Result<Batch, Error>> {
    outlets.iter().cycle().map_while(|outlet| outlet.recv().ok())
}

fn deliver_all<B>(
    batches: impl Iterator<Item = Result<Batch, Error>>,
    mut deliver: impl FnMut(Batch) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, Error> {
    for batch in batches {
        if let ControlFlow::Break(value) = deliver(batch?) {
            return Ok(ControlFlow::Break(value));
        }
    }
    Ok(ControlFlow::Continue(()))
}
