//! Texts of a ranking, or of events, and what models made of them.

use super::{Encode, Models, Task, Vector};
use rankwright_encoder::{EncodeError, key};
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// Texts of one call: those of other threads have their turn between calls.
const AT_ONCE: usize = 64;

/// A text, or a pair with a document, of a model by its number.
type Wanted = (usize, u128, String, Option<String>);

/// Texts that have to be computed.
#[derive(Default)]
pub struct Texts {
    models: Models,
    wanted: Vec<Wanted>,
    known: HashSet<(usize, u128)>,
}

/// A text by its key, and what a model made of it.
type Computed = (u128, Result<Vector, EncodeError>);

/// What models made of texts.
#[derive(Debug, Default)]
pub struct Encoded {
    known: HashMap<(usize, u128), Vector>,
    absent: usize,
    /// Why the first of them is.
    why: Option<String>,
}

impl Texts {
    pub(crate) fn of(models: &Models) -> Self {
        Self { models: models.clone(), ..Self::default() }
    }

    /// Adds a text, or a pair with a document, that a model is to compute; each once.
    pub(crate) fn add(&mut self, model: usize, text: &str, document: Option<&str>) {
        let key = key(text, document);
        if self.known.insert((model, key)) {
            self.wanted.push((model, key, text.to_owned(), document.map(str::to_owned)));
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.wanted.len()
    }

    /// What models computed of them lately, without waiting. Those that are not known are left, for [`encode`](Texts::encode).
    pub fn recall(&mut self) -> Encoded {
        let models: Vec<&dyn Encode> = self.models.all().collect();
        taken(&mut self.wanted, |model, key| models[model].recall(key))
    }

    /// Those that are known already, and leaves the others.
    pub fn among(&mut self, known: &Encoded) -> Encoded {
        taken(&mut self.wanted, |model, key| known.known.get(&(model, key)).cloned())
    }

    /// Has them computed, and waits for it: for threads that may. What fails, or is not done by the deadline, is absent. A
    /// model that panics has failed.
    ///
    /// The models compute beside each other: a slow one takes no time from the others.
    pub fn encode(&self, deadline: Option<Instant>) -> Encoded {
        let mut encoded = Encoded::default();
        let models: Vec<(usize, &dyn Encode)> = self
            .models
            .all()
            .enumerate()
            .filter(|(number, _)| self.wanted.iter().any(|(of, ..)| of == number))
            .collect();
        if let [(number, model)] = models[..] {
            encoded.take(number, self.of_model(number, model, deadline));
            return encoded;
        }
        thread::scope(|scope| {
            let begun: Vec<_> = models
                .iter()
                .map(|&(number, model)| (number, scope.spawn(move || self.of_model(number, model, deadline))))
                .collect();
            for (number, running) in begun {
                encoded.take(number, running.join().expect("panics of models are caught"));
            }
        });
        encoded
    }

    /// What one model makes of its texts.
    fn of_model(&self, number: usize, model: &dyn Encode, deadline: Option<Instant>) -> Vec<Computed> {
        let mut texts: Vec<(u128, &str, Option<&str>)> = Vec::new();
        for (_, key, text, document) in self.wanted.iter().filter(|(of, ..)| *of == number) {
            texts.push((*key, text, document.as_deref()));
        }
        let calls: Vec<_> = texts.chunks(AT_ONCE).collect();
        let computed = two_at_a_time(&calls, |some| compute(model, some, deadline));
        texts.iter().map(|(key, ..)| *key).zip(computed.into_iter().flatten()).collect()
    }
}

impl Encoded {
    fn take(&mut self, number: usize, computed: Vec<Computed>) {
        for (key, vector) in computed {
            match vector {
                Ok(vector) => drop(self.known.insert((number, key), vector)),
                Err(error) => {
                    self.absent += 1;
                    self.why.get_or_insert_with(|| error.to_string());
                }
            }
        }
    }

    /// No result for any of the texts.
    pub fn without(texts: usize, why: String) -> Self {
        Self { absent: texts, why: Some(why), ..Self::default() }
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.known.extend(other.known);
        Self { known: self.known, absent: self.absent + other.absent, why: self.why.or(other.why) }
    }

    /// How many texts are not here that were asked for.
    pub fn absent(&self) -> usize {
        self.absent
    }

    /// Why the first of them is absent.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// The embedding of a text.
    pub(crate) fn vector(&self, model: usize, text: &str) -> Option<&[f32]> {
        self.known.get(&(model, key(text, None))).map(|vector| &**vector)
    }

    /// The score of a pair.
    pub(crate) fn score(&self, model: usize, query: &str, document: &str) -> Option<f32> {
        self.known.get(&(model, key(query, Some(document))))?.first().copied()
    }
}

/// Takes those that are known out of what is wanted.
fn taken(wanted: &mut Vec<Wanted>, known: impl Fn(usize, u128) -> Option<Vector>) -> Encoded {
    let mut encoded = Encoded::default();
    wanted.retain(|(model, key, ..)| match known(*model, *key) {
        Some(vector) => encoded.known.insert((*model, *key), vector).is_some(),
        None => true,
    });
    encoded
}

/// What comes of each call, in their order. While one splits its texts into tokens, or waits for its last text, the model
/// computes those of the other.
fn two_at_a_time<C: Sync, R: Send + Sync>(calls: &[C], answer: impl Fn(&C) -> R + Sync) -> Vec<R> {
    if calls.len() < 2 {
        return calls.iter().map(answer).collect();
    }
    let (next, answers) = (AtomicUsize::new(0), calls.iter().map(|_| OnceLock::new()).collect::<Vec<_>>());
    let work = || {
        let own = || next.fetch_add(1, Ordering::Relaxed);
        let mut place = own();
        while let Some(call) = calls.get(place) {
            answers[place].get_or_init(|| answer(call));
            place = own();
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    answers.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// Some texts of a model. Where that fails, each by itself: what was done by the deadline is still at hand then, and
/// one text that the model refuses keeps no other from being computed.
fn compute(
    model: &dyn Encode,
    texts: &[(u128, &str, Option<&str>)],
    by: Option<Instant>,
) -> Vec<Result<Vector, EncodeError>> {
    let ask = |texts: &[(u128, &str, Option<&str>)]| match model.task() {
        Task::Embed => model.embed(&texts.iter().map(|&(_, text, _)| text).collect::<Vec<_>>(), by),
        Task::Score => {
            let pairs: Vec<_> = texts.iter().map(|&(_, text, document)| (text, document.unwrap_or_default())).collect();
            Ok(model.score(&pairs, by)?.into_iter().map(|score| Vector::from([score])).collect())
        }
    };
    let panicked = |_| Err(EncodeError::Failed { cause: "the model panicked".to_owned() });
    let all = |texts: &[_]| catch_unwind(AssertUnwindSafe(|| ask(texts))).unwrap_or_else(panicked);
    match all(texts) {
        Ok(vectors) => vectors.into_iter().map(Ok).collect(),
        Err(failed) if texts.len() == 1 => vec![Err(failed)],
        Err(failed) => {
            let alone = |text| all(text).and_then(|mut vectors| vectors.pop().ok_or_else(|| failed.clone()));
            texts.chunks(1).map(alone).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Encoders;
    use super::*;
    use rankwright_config::TextModel;
    use std::sync::{Arc, Barrier};

    /// A model that computes when the other one does.
    struct Together(Arc<Barrier>);

    impl Encode for Together {
        fn task(&self) -> Task {
            Task::Embed
        }

        fn dim(&self) -> usize {
            1
        }

        fn digest(&self) -> &str {
            ""
        }

        fn embed(&self, texts: &[&str], _: Option<Instant>) -> Result<Vec<Vector>, EncodeError> {
            self.0.wait();
            Ok(texts.iter().map(|_| Vector::from([1.0])).collect())
        }

        fn score(&self, _: &[(&str, &str)], _: Option<Instant>) -> Result<Vec<f32>, EncodeError> {
            Ok(Vec::new())
        }
    }

    impl Encoders for Arc<Barrier> {
        fn open(&self, _: &TextModel) -> Result<Arc<dyn Encode>, String> {
            Ok(Arc::new(Together(self.clone())))
        }
    }

    /// A model that panics at one text, and knows another one already.
    #[derive(Default)]
    struct Frail {
        calls: AtomicUsize,
    }

    impl Encode for Frail {
        fn task(&self) -> Task {
            Task::Embed
        }

        fn dim(&self) -> usize {
            1
        }

        fn digest(&self) -> &str {
            ""
        }

        fn recall(&self, of: u128) -> Option<Vector> {
            (of == key("known", None)).then(|| Vector::from([2.0]))
        }

        fn embed(&self, texts: &[&str], _: Option<Instant>) -> Result<Vec<Vector>, EncodeError> {
            self.calls.fetch_add(1, Ordering::Relaxed);
            assert!(!texts.contains(&"bad") && !texts.contains(&"known"), "{texts:?}");
            Ok(texts.iter().map(|_| Vector::from([1.0])).collect())
        }

        fn score(&self, _: &[(&str, &str)], _: Option<Instant>) -> Result<Vec<f32>, EncodeError> {
            Ok(Vec::new())
        }
    }

    /// Opens it, whichever model is asked for.
    struct Frailty;

    impl Encoders for Frailty {
        fn open(&self, _: &TextModel) -> Result<Arc<dyn Encode>, String> {
            Ok(Arc::new(Frail::default()))
        }
    }

    fn model(handle: &str) -> TextModel {
        TextModel { handle: handle.to_owned(), model_file: None, tokenizer_file: None }
    }

    #[test]
    fn a_text_at_which_a_model_panics_is_absent_alone_and_counted() {
        let mut models = Models::default();
        for handle in ["a/one", "a/two"] {
            assert!(models.add(&model(handle), &Frailty).is_ok());
        }
        for of in [vec![0], vec![0, 1]] {
            let mut texts = Texts::of(&models);
            for &number in &of {
                texts.add(number, "good", None);
                texts.add(number, "bad", None);
            }
            let encoded = texts.encode(None);
            assert!(of.iter().all(|&number| encoded.vector(number, "good").is_some()));
            assert_eq!(
                (encoded.absent(), encoded.why()),
                (of.len(), Some("failed to compute texts: the model panicked"))
            );
        }
    }

    #[test]
    fn a_text_that_is_alone_in_its_call_is_tried_once() {
        let frail = Frail::default();
        let computed = compute(&frail, &[(1, "bad", None)], None);
        assert!(matches!(computed[..], [Err(EncodeError::Failed { .. })]), "{computed:?}");
        assert_eq!(frail.calls.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_a_model_knows_is_recalled_without_asking_it_to_compute() {
        let mut models = Models::default();
        assert!(models.add(&model("a/one"), &Frailty).is_ok());
        let mut texts = Texts::of(&models);
        texts.add(0, "known", None);
        texts.add(0, "new", None);
        let known = texts.recall();
        assert_eq!((known.vector(0, "known"), texts.len()), (Some(&[2.0][..]), 1));
        let both = known.and(texts.encode(None));
        assert_eq!((both.vector(0, "known"), both.vector(0, "new")), (Some(&[2.0][..]), Some(&[1.0][..])));
        assert_eq!(both.and(Encoded::without(3, "why".to_owned())).absent(), 3);
    }

    #[test]
    fn what_was_computed_before_is_not_computed_again() {
        let mut models = Models::default();
        assert!(models.add(&model("a/one"), &Frailty).is_ok());
        let texts = |names: [&str; 2]| {
            let mut texts = Texts::of(&models);
            names.iter().for_each(|name| texts.add(0, name, None));
            texts
        };
        let before = texts(["one", "two"]).encode(None);
        let mut more = texts(["two", "three"]);
        let known = more.among(&before);
        assert_eq!((known.vector(0, "two").is_some(), known.vector(0, "one").is_some(), more.len()), (true, false, 1));
    }

    #[test]
    fn models_compute_beside_each_other() {
        let (mut models, both) = (Models::default(), Arc::new(Barrier::new(2)));
        for handle in ["a/one", "a/two"] {
            assert!(models.add(&model(handle), &both).is_ok());
        }
        let mut texts = Texts::of(&models);
        texts.add(0, "text", None);
        texts.add(1, "text", None);
        let encoded = texts.encode(None);
        assert!(encoded.vector(0, "text").is_some() && encoded.vector(1, "text").is_some());
    }

    #[test]
    fn while_one_call_of_a_model_ends_another_one_is_computed() {
        let (mut models, both) = (Models::default(), Arc::new(Barrier::new(2)));
        assert!(models.add(&model("a/one"), &both).is_ok());
        let mut texts = Texts::of(&models);
        let names: Vec<String> = (0..AT_ONCE * 4).map(|number| number.to_string()).collect();
        names.iter().for_each(|name| texts.add(0, name, None));
        let encoded = texts.encode(None);
        assert!(names.iter().all(|name| encoded.vector(0, name).is_some()));
    }
}
