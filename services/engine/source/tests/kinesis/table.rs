//! Tasks and who holds them, as a state store would keep them.

use rankwright_source::{BoxFuture, Leases};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Tasks, who holds them, until when.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table(Arc<Mutex<BTreeMap<String, (String, Instant)>>>);

/// One process.
struct Holder {
    table: Table,
    name: String,
}

impl Table {
    /// The leases of a process of this name.
    pub(crate) fn holder(&self, name: &str) -> Arc<dyn Leases> {
        Arc::new(Holder { table: self.clone(), name: name.to_owned() })
    }

    /// Ends the leases of a process at once, as time would.
    pub(crate) fn expire(&self, name: &str) {
        self.0.lock().expect("nobody has panicked").retain(|_, (holder, _)| holder != name);
    }
}

impl Leases for Holder {
    fn hold<'a>(&'a self, task: &'a str, time: Duration) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async move {
            let mut table = self.table.0.lock().map_err(|error| error.to_string())?;
            let (now, until) = (Instant::now(), Instant::now() + time.max(Duration::from_millis(1)));
            match table.get(task) {
                Some((holder, end)) if *holder != self.name && *end > now => Ok(false),
                _ => {
                    table.insert(task.to_owned(), (self.name.clone(), until));
                    Ok(true)
                }
            }
        })
    }
}
