//! Counts what the thread allocates.
#![allow(unsafe_code)] // an allocator cannot be written without; it passes everything on as it comes

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

/// Bytes this thread has asked for so far, freed or not.
pub(crate) fn allocated() -> usize {
    ALLOCATED.get()
}

struct Counting;

// SAFETY: the system's allocator keeps the contract, and is given exactly what came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|allocated| allocated.set(allocated.get() + layout.size()));
        // SAFETY: as above
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
