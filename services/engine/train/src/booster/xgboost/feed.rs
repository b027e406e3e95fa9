//! Shows rows to the library in blocks, as often as it asks: for their number, their quantiles, and their bins.

use super::{MAX_BIN, Matrix, Scratch, array, check, sys, text};
use crate::booster::Error;
use crate::examples::{Blocks, Examples};
use std::ffi::{CStr, c_int};
use std::path::Path;
use std::ptr;

/// Rows on their way to the library.
pub(super) struct Feed<'a> {
    blocks: Blocks<'a>,
    width: usize,
    types: Vec<&'static CStr>,
    /// What the library takes each block from.
    proxy: Matrix,
    /// Why reading ended early.
    failure: Option<Error>,
}

impl<'a> Feed<'a> {
    pub(super) fn new(examples: Examples<'a>, categorical: &[usize]) -> Result<Self, Error> {
        let kind = |column| if categorical.contains(&column) { c"c" } else { c"q" };
        let mut handle = ptr::null_mut();
        // SAFETY: our own out pointer.
        check("prepare for rows", unsafe { sys::XGProxyDMatrixCreate(&mut handle) })?;
        let (proxy, width) = (Matrix { handle, _folder: None }, examples.width());
        let types = (0..width).map(kind).collect();
        Ok(Self { blocks: examples.blocks(), width, types, proxy, failure: None })
    }

    /// A matrix of the rows' bins: in memory, or in a file of this folder, from which it goes with the matrix.
    pub(super) fn bin(mut self, threads: usize, folder: Option<Scratch>) -> Result<Matrix, Error> {
        let config = text(config(threads, folder.as_ref().map(Scratch::path)))?;
        let create = match &folder {
            Some(_) => sys::XGExtMemQuantileDMatrixCreateFromCallback,
            None => sys::XGQuantileDMatrixCreateFromCallback,
        };
        let (proxy, none, mut handle) = (self.proxy.handle, ptr::null_mut(), ptr::null_mut());
        let feed: *mut Feed<'_> = &mut self;
        // SAFETY: the callbacks get the feed, which lives, and which nothing else touches, until the call returns; the
        // proxy is live.
        let code = unsafe { create(feed.cast(), proxy, none, Some(reset), Some(next), config.as_ptr(), &mut handle) };
        // what reading met says more than what the library makes of it
        let made = check("read the rows", code).map(|()| Matrix { handle, _folder: folder });
        self.failure.map_or(made, Err)
    }

    /// Hands the next block over; `false` behind the last one.
    fn advance(&mut self) -> Result<bool, Error> {
        let Some(block) = self.blocks.advance()? else { return Ok(false) };
        let shape = [block.values.len() / self.width.max(1), self.width];
        let data = array(block.values.as_ptr().expose_provenance(), &shape, "<f4")?;
        // SAFETY: `data` describes values that stay as they are until the library asks for the next ones.
        check("read the rows", unsafe { sys::XGProxyDMatrixSetDataDense(self.proxy.handle, data.as_ptr()) })?;
        self.proxy.set_types(&self.types)?;
        Ok(true)
    }
}

/// What the library has to know of the rows and of where their bins go.
fn config(threads: usize, folder: Option<&Path>) -> String {
    let config = format!("\"missing\":NaN,\"nthread\":{threads},\"max_bin\":{MAX_BIN}");
    match folder {
        Some(folder) => {
            let file = serde_json::Value::from(folder.join("bins").to_string_lossy());
            format!("{{{config},\"cache_prefix\":{file}}}")
        }
        None => format!("{{{config}}}"),
    }
}

/// Hands over the next block, and returns 0 where there is none.
///
/// # Safety
/// `feed` is a [`Feed`] that nothing else touches meanwhile.
unsafe extern "C" fn next(feed: sys::DataIterHandle) -> c_int {
    // SAFETY: as the caller promises.
    let feed = unsafe { &mut *feed.cast::<Feed<'_>>() };
    match feed.advance() {
        Ok(more) => c_int::from(more),
        Err(error) => {
            feed.failure = Some(error);
            0
        }
    }
}

/// Begins with the first block again.
///
/// # Safety
/// As for [`next`].
unsafe extern "C" fn reset(feed: sys::DataIterHandle) {
    // SAFETY: as the caller promises.
    unsafe { &mut *feed.cast::<Feed<'_>>() }.blocks.rewind();
}
