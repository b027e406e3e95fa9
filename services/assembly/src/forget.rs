//! Forgetting a visitor or an item, in all stores of a service.

use crate::closing::{FORGETS, HELD, Holding, REBUILD, TASK, Tenure};
use crate::engine::Engine;
use crate::folder;
use crate::joins;
use crate::program::chain;
use crate::serving::identity;
use anyhow::{Context, Result, bail};
use futures_util::future::BoxFuture;
use rankwright_clickthrough::{Subject, Who};
use rankwright_config::state::FileState;
use rankwright_config::{ClickthroughStore, Config, State};
use rankwright_event::SessionId;
use rankwright_ingest as ingest;
use rankwright_serve::{Forget, ForgetError};
use rankwright_state::forget::without_item;
use rankwright_state::{BoxFuture as StateFuture, Commit, Key, Outcome, Scope, Store, Writer};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

const WRITER: &str = "forget";
/// Why a process with a state of its own does not forget while it serves.
const ALONE: &str =
    "this process holds its state alone, with open rankings in memory: stop it, and run rankwright forget";
/// Why a process that keeps no click-throughs, as a rank-server, does not forget: others may keep them.
const WITHOUT_CLICKTHROUGHS: &str = "this process does not reach the store of click-throughs: run rankwright forget";
/// Between two attempts to become the one who may close rankings.
const PAUSE: Duration = Duration::from_millis(200);
/// Time between two requests to the closer to let go: with more of them nothing would be closed meanwhile,
const ASKS_AT_MOST: Duration = Duration::from_secs(30);
/// and between two log lines about it.
const TELLS: Duration = Duration::from_secs(60);

/// At most this many calls over HTTP wait; they are carried out one at a time.
const AT_ONCE: usize = 4;

/// Forgets over HTTP, in a process that serves.
pub(crate) struct Forgetter {
    engine: Arc<Engine>,
    places: Arc<Semaphore>,
}

impl Forgetter {
    pub(crate) fn over(engine: Arc<Engine>) -> Self {
        Self { engine, places: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Forget for Forgetter {
    fn unavailable(&self) -> Option<String> {
        if !self.engine.state.shared() {
            return Some(ALONE.to_owned());
        }
        let discards = matches!(self.engine.config.train, Some(ClickthroughStore::Discard));
        discards.then(|| WITHOUT_CLICKTHROUGHS.to_owned())
    }

    fn forget(&self, key: Key) -> StateFuture<'_, Result<rankwright_serve::Forgotten, ForgetError>> {
        Box::pin(async move {
            let place = self.places.clone().try_acquire_owned().map_err(|_| ForgetError::Busy)?;
            let Key { tenant, scope } = key;
            let who = match scope {
                Scope::User(user) => Who::User(user),
                Scope::Item(item) => Who::Item(item),
                _ => return Err(ForgetError::Elsewhere("only items and visitors are forgotten".to_owned())),
            };
            if let Some(reason) = self.unavailable() {
                return Err(ForgetError::Elsewhere(reason));
            }
            let (engine, subject) = (self.engine.clone(), Subject { tenant, who });
            let work = self.engine.runtime.spawn(async move {
                let _place = place;
                in_stores(&engine, &subject).await
            });
            let told = work.await.map_err(|error| ForgetError::Failed(error.to_string()))?;
            let Forgotten { removed, left } = told.map_err(|error| ForgetError::Failed(chain(&error)))?;
            Ok(rankwright_serve::Forgotten { removed, left })
        })
    }
}

/// Keeps others from closing rankings while it is there.
struct Alone {
    state: Arc<dyn Store>,
    holder: String,
    holding: Holding,
}

/// What was removed, and what was not.
#[derive(Debug, Default)]
pub struct Forgotten {
    /// In words.
    pub removed: Vec<String>,
    /// In words; it is to be begun again then.
    pub left: Vec<String>,
}

/// Removes a visitor or an item from the state, from open rankings and from click-throughs. Events of theirs that are still on
/// their way, or in a source, come in as those of a stranger.
///
/// # Errors
/// When a store fails; what was removed by then is gone, and it can be begun again.
pub fn forget(config: Config, subject: &Subject) -> BoxFuture<'_, Result<Forgotten>> {
    Box::pin(async move {
        let State::File(file) = &config.state else {
            return in_stores(&Engine::open_to_train(config, Vec::new()).await?, subject).await;
        };
        let (path, file) = (folder::place(file), file.clone());
        in_folder(config, &path, &file, subject).await
    })
}

/// The state is closed at the end, however that comes.
async fn in_folder(config: Config, path: &Path, file: &FileState, subject: &Subject) -> Result<Forgotten> {
    let state = Arc::new(folder::open(path, file)?);
    let mut told = in_stores(&Engine::without_texts(config, state.clone(), &[]).await?, subject).await?;
    let state = Arc::into_inner(state).context("the state is in use")?;
    let place = path.display();
    match tokio::task::block_in_place(|| folder::rewrite(path, state)) {
        Ok(()) => told.removed.push(format!("what was still in the files of {place}, which were rewritten")),
        Err(error) => told
            .left
            .push(format!("what is still in the files of {place}, which could not be rewritten: {}", chain(&error))),
    }
    Ok(told)
}

/// Removes them from what can be read.
fn in_stores<'a>(engine: &'a Engine, subject: &'a Subject) -> BoxFuture<'a, Result<Forgotten>> {
    Box::pin(async move {
        if !engine.state.durable() {
            bail!("the state is in memory: it is gone with the process that holds it");
        }
        let told = unfinished(engine).await?;
        let alone = Alone::become_so(engine).await?;
        let told = while_alone(engine, subject, told).await;
        alone.end().await; // however that went: nothing of it has the state in use then
        told
    })
}

/// While no process closes rankings.
fn while_alone<'a>(engine: &'a Engine, subject: &'a Subject, mut told: Forgotten) -> BoxFuture<'a, Result<Forgotten>> {
    Box::pin(async move {
        let many = joins::are_of_many(&*engine.state).await?;
        engine.state.settle().await?; // or what a killed writer has begun would bring them back
        // visits first: nothing names them any more once the records are gone
        let sessions = sessions(engine, many, subject).await?;
        let entities = match &subject.who {
            Who::User(_) => remove(engine, &keys_of_visitor(subject, sessions)).await?,
            Who::Item(item) => {
                let (tenant, item) = (subject.tenant.clone(), item.clone());
                let without = move |key: &Key, entity: &_| without_item(key, entity, &tenant, &item);
                engine.state.rewrite(Arc::new(without)).await?
            }
        };
        let unjoined = ingest::forget::forget(&*engine.state, many, subject).await?;
        let parts = tokio::task::block_in_place(|| engine.clickthroughs.forget(subject))?;
        let ingest::Unjoined { open, waiting, closed, .. } = unjoined;
        let removed = [
            format!("{entities} entities of the state"),
            format!("{open} open rankings, {waiting} waiting interactions, {closed} click-throughs on their way"),
            format!("{} click-throughs in {} parts", parts.records, parts.parts),
        ];
        told.removed.splice(0..0, removed);
        let unlisted = |parts: u64| {
            format!("parts that were not completely written, or removed, with all that is in them: {parts}")
        };
        told.removed.extend((parts.unlisted > 0).then(|| unlisted(parts.unlisted)));
        told.removed.extend(
            parts.damaged.iter().map(|place| format!("what was damaged in {place}, with the rest of it rewritten")),
        );
        let former = engine.state.clear_former().await?;
        told.removed.extend((former > 0).then(|| format!("{former} keys of the state before the last rebuild")));
        if matches!(engine.config.train, Some(ClickthroughStore::Memory)) {
            told.left.push("the click-throughs in the memory of a running process: restart it".to_owned());
        }
        told.left.extend(parts.left.iter().map(|place| {
            format!("{place}: it is damaged, or another process writes it; stop that one and begin again")
        }));
        Ok(told)
    })
}

/// Visits that records of a visitor name, wherever these are.
async fn sessions(engine: &Engine, many: bool, subject: &Subject) -> Result<HashSet<SessionId>> {
    let Who::User(user) = &subject.who else { return Ok(HashSet::new()) };
    let mut sessions = ingest::forget::sessions(&*engine.state, many, subject).await?;
    tokio::task::block_in_place(|| -> Result<()> {
        for entry in engine.clickthroughs.read()? {
            let (_, record) = entry?;
            let theirs = record.tenant == subject.tenant && record.user.as_ref() == Some(user);
            sessions.extend(record.session.filter(|_| theirs));
        }
        Ok(())
    })?;
    Ok(sessions)
}

fn keys_of_visitor(subject: &Subject, sessions: HashSet<SessionId>) -> Vec<Key> {
    let Who::User(user) = &subject.who else { return Vec::new() };
    let sessions = sessions.into_iter().map(Scope::Session);
    std::iter::once(Scope::User(user.clone())).chain(sessions).map(|scope| Key::new(&subject.tenant, scope)).collect()
}

/// Removes what a rebuild has left that was killed.
async fn unfinished(engine: &Engine) -> Result<Forgotten> {
    let removed = |what: Option<String>| Forgotten { removed: what.into_iter().collect(), ..Forgotten::default() };
    if let State::File(file) = &engine.config.state {
        // a process that fills one holds the state itself as well
        let folders = crate::rebuild::unfinished(&file.path)?;
        for folder in &folders {
            std::fs::remove_dir_all(folder).with_context(|| format!("failed to remove {}", folder.display()))?;
        }
        return Ok(removed((!folders.is_empty()).then(|| "a rebuild that was not completed".to_owned())));
    }
    if is_under_way(engine).await? {
        let under_way = "a rebuild that is under way: it reads the events again; forget once more when it is complete";
        return Ok(Forgotten { left: vec![under_way.to_owned()], ..Forgotten::default() });
    }
    let keys = engine.state.clear_unfinished().await?;
    Ok(removed((keys > 0).then(|| format!("{keys} keys of a rebuild that was not completed"))))
}

/// Whether a process fills a state beside the live one. One that was killed is seen for some more seconds.
async fn is_under_way(engine: &Engine) -> Result<bool> {
    let began = Instant::now();
    while engine.state.holder(REBUILD).await?.is_some() {
        if began.elapsed() > HELD + PAUSE {
            return Ok(true);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(false)
}

/// How many of these there were.
async fn remove(engine: &Engine, keys: &[Key]) -> Result<u64> {
    let found = engine.state.read(keys).await?;
    let lease = engine.state.acquire(&Writer(WRITER.to_owned())).await?;
    let (from, to) = (lease.position.clone(), lease.position.clone());
    let writes = keys.iter().map(|key| (key.clone(), None)).collect();
    match engine.state.commit(&lease, Commit { from, to, writes, ..Commit::default() }).await? {
        Outcome::Applied => Ok(found.iter().flatten().count() as u64),
        Outcome::LostLease | Outcome::Exists => bail!("another process forgets at the same time: begin again"),
    }
}

impl Alone {
    /// Has the closer write what it holds, and let go of the task, however long that takes. Another process that forgets
    /// completes first.
    async fn become_so(engine: &Engine) -> Result<Self> {
        let (state, holder) = (engine.state.clone(), format!("{FORGETS}{}", identity()));
        let tenure = Arc::<Tenure>::default();
        let (mut told, mut tells_next) = (false, Instant::now() + HELD);
        let (mut asks_next, mut pause, mut asked) = (Instant::now(), HELD / 2, None::<Instant>);
        loop {
            if let Some(holding) = Holding::begin(state.clone(), &holder, &tenure).await? {
                // who had it before, and stands still, closes nothing of what is forgotten when it wakes up
                state.acquire(&Writer(TASK.to_owned())).await?; // it is the name of its writer as well
                return Ok(Self { state, holder, holding });
            }
            match state.holder(TASK).await? {
                Some(by) if by.starts_with(FORGETS) => {
                    if !std::mem::replace(&mut told, true) {
                        tracing::info!(by, "another process forgets first");
                    }
                }
                by => {
                    if asks_next <= Instant::now() {
                        state.acquire(&Writer(TASK.to_owned())).await?;
                        (asks_next, pause) = (Instant::now() + pause, (pause * 2).min(ASKS_AT_MOST));
                        asked = Some(Instant::now());
                    }
                    if let Some(by) = by.filter(|_| tells_next <= Instant::now()) {
                        tracing::warn!(
                            by,
                            "nothing is forgotten yet: this process closes rankings, and has not handed that over; it cannot while \
                             its store of click-throughs does not take what it holds, which its log then says"
                        );
                        tells_next = Instant::now() + TELLS;
                    }
                }
            }
            // others who may close look each second: who has asked is there before them
            let soon = asked.is_some_and(|asked| asked.elapsed() < HELD / 5);
            tokio::time::sleep(if soon { PAUSE / 10 } else { PAUSE }).await;
        }
    }

    async fn end(self) {
        self.holding.end().await;
        if let Err(error) = self.state.hold(TASK, &self.holder, Duration::from_millis(1)).await {
            tracing::debug!(%error, "rankings are closed later");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_event::Tenant;
    use rankwright_state::MemoryStore;

    #[tokio::test]
    async fn who_comes_while_others_are_forgotten_is_asked_to_come_again() {
        let (config, _) = Config::parse("models: {none: {type: noop}}", "test").expect("a valid configuration");
        let engine = Engine::over(config, Arc::new(MemoryStore::default())).await.expect("opens");
        let forgetter = Forgetter::over(Arc::new(engine));
        let forget = || forgetter.forget(Key::new(&Tenant::default(), Scope::User("u".into())));
        let others: Vec<_> = (0..AT_ONCE).map(|_| forgetter.places.clone().try_acquire_owned()).collect();
        assert!(matches!(forget().await, Err(ForgetError::Busy)));
        drop(others);
        for _ in 0..=AT_ONCE {
            assert!(matches!(forget().await, Err(ForgetError::Elsewhere(_))), "each place is given back");
        }
    }
}
