//! Work on parts of a slice by several threads, with a result that does not depend on how many.

use std::num::NonZero;
use std::sync::Mutex;
use std::thread;

/// How many threads to use: as many as were asked for, or as there are processors.
pub(crate) fn threads(wanted: Option<NonZero<usize>>) -> NonZero<usize> {
    wanted.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZero::<usize>::MIN)
}

/// Shows each part of a slice, with the place of its first element, to one of several threads; parts are of equal length but
/// for the last. A thread has a scratch space of its own.
pub(crate) fn each_part<T: Send, S>(
    threads: NonZero<usize>,
    all: &mut [T],
    length: usize,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize, &mut [T]) + Sync,
) {
    let length = length.max(1);
    let helpers = threads.get().min(all.len().div_ceil(length)).saturating_sub(1);
    let parts = Mutex::new(all.chunks_mut(length).enumerate());
    let next = || parts.lock().ok().and_then(|mut parts| parts.next());
    let drain = || {
        let mut scratch = scratch();
        while let Some((part, elements)) = next() {
            work(&mut scratch, part * length, elements);
        }
    };
    thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(drain);
        }
        drain();
    });
}

/// Results of a function for each number below a count, in their order.
pub(crate) fn map<R: Default + Clone + Send>(
    threads: NonZero<usize>,
    count: usize,
    length: usize,
    of: impl Fn(usize) -> R + Sync,
) -> Vec<R> {
    let mut results = vec![R::default(); count];
    each_part(
        threads,
        &mut results,
        length,
        || (),
        |(), first, part| {
            part.iter_mut().enumerate().for_each(|(offset, result)| *result = of(first + offset));
        },
    );
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_worked_on_once_by_any_number_of_threads() {
        for wanted in 1..5 {
            let threads = threads(NonZero::new(wanted));
            for count in [0, 1, 7, 100] {
                let squares: Vec<usize> = (0..count).map(|number| number * number).collect();
                assert_eq!(map(threads, count, 3, |number| number * number), squares);
            }
        }
    }
}
