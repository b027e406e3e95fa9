//! Reading, on one thread or several.

use super::Files;
use super::block::{Block, Blocks};
use super::decode::decode;
use super::records::Records;
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
        mapped(blocks, threads, |block| decode(&block), deliver)
    }

    /// The records as they lie there, whatever their times, each block made into something by `map`, on `threads` threads;
    /// delivered as by [`Files::read_parallel`].
    pub fn read_records<T: Send, B>(
        &self,
        threads: usize,
        map: impl Fn(Records) -> T + Sync,
        deliver: impl FnMut(T) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        let blocks = Blocks::new(self.clone(), None)?;
        mapped(blocks, threads, |block| map(Records::of(block)), deliver)
    }
}

fn mapped<T: Send, B>(
    blocks: Blocks,
    threads: usize,
    map: impl Fn(Block) -> T + Sync,
    deliver: impl FnMut(T) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, Error> {
    if threads == 0 {
        return deliver_all(blocks.map(|block| block.map(&map)), deliver);
    }
    thread::scope(|scope| {
        let (inlets, outlets): (Vec<_>, Vec<_>) = (0..threads).map(|_| mapper(scope, &map)).unzip();
        scope.spawn(move || feed(blocks, &inlets));
        deliver_all(in_turn(&outlets), deliver)
    })
}

/// Starts a thread that decodes: where blocks go in, and where what becomes of them comes out.
fn mapper<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    map: &'scope (impl Fn(Block) -> T + Sync),
) -> (Inlet<Block>, Outlet<T>) {
    let (inlet, blocks): (Inlet<Block>, Outlet<Block>) = sync_channel(QUEUE);
    let (mapped, outlet): (Inlet<T>, Outlet<T>) = sync_channel(QUEUE);
    scope.spawn(move || {
        for block in blocks {
            if mapped.send(block.map(map)).is_err() {
                break; // the consumer wants no more
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

/// Takes one of each decoder in turn; the first that has no more was the last.
fn in_turn<T>(outlets: &[Outlet<T>]) -> impl Iterator<Item = Result<T, Error>> {
    outlets.iter().cycle().map_while(|outlet| outlet.recv().ok())
}

fn deliver_all<T, B>(
    batches: impl Iterator<Item = Result<T, Error>>,
    mut deliver: impl FnMut(T) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, Error> {
    for batch in batches {
        if let ControlFlow::Break(value) = deliver(batch?) {
            return Ok(ControlFlow::Break(value));
        }
    }
    Ok(ControlFlow::Continue(()))
}
