use super::*;
use rankwright_clickthrough::{Forgotten, Records, Status, Subject};
use rankwright_event::{Interaction, Tenant, Timestamp};
use rankwright_state::Scope;

/// A store that notes what it is brought. It refuses the first bags, and never takes the record `never`.
#[derive(Default)]
struct Noting {
    refuses: Mutex<usize>,
    bags: Mutex<Vec<Vec<String>>>,
    durable: Mutex<(u64, u64)>,
}

impl ClickthroughStore for Noting {
    fn append(&self, records: &[Clickthrough]) -> Result<Mark, Error> {
        let names: Vec<String> = records.iter().map(|record| record.ranking.to_string()).collect();
        let never = names.iter().any(|name| name == "never");
        let refuses = std::mem::replace(&mut *self.refuses.lock(), 0);
        self.bags.lock().push(names);
        *self.refuses.lock() = refuses.saturating_sub(usize::from(!never));
        match (never, refuses) {
            (true, _) => Err(Error::TooLarge { ranking: "never".into(), bytes: 2, limit: 1 }),
            (false, 1..) => Err(Error::Newer { place: "full".into(), found: 2, newest: 1 }),
            (false, 0) => {
                let taken = &mut self.durable.lock().1;
                *taken += records.len() as u64;
                Ok(Mark(*taken))
            }
        }
    }

    fn flush(&self) -> Result<Mark, Error> {
        let durable = &mut *self.durable.lock();
        durable.0 = durable.1;
        Ok(Mark(durable.0))
    }

    fn flush_due(&self) -> Result<Mark, Error> {
        Ok(self.durable()) // nothing has waited long enough
    }

    fn durable(&self) -> Mark {
        Mark(self.durable.lock().0)
    }

    fn read(&self) -> Result<Records, Error> {
        Ok(Records::new(std::iter::empty()))
    }

    fn forget(&self, _: &Subject) -> Result<Forgotten, Error> {
        Ok(Forgotten::default())
    }

    fn status(&self) -> Status {
        Status::default()
    }
}

fn key(name: &str) -> Key {
    Key::new(&Tenant::default(), Scope::Outbox(name.into()))
}

/// With room for three records of which two are brought at a time.
fn outbox(store: &Arc<Noting>, refuses: usize, names: &[&str]) -> Outbox {
    *store.refuses.lock() = refuses;
    let mut outbox = Outbox::new(store.clone());
    outbox.limits = Limits { records: 3, bag: 2, ..LIMITS };
    for name in names {
        outbox.push(Some(key(name)), closed(name));
    }
    outbox
}

fn closed(name: &str) -> Closed {
    Closed::Written(Clickthrough::of_interaction(&Interaction {
        id: name.into(),
        timestamp: Timestamp::from_millis(1),
        tenant: Tenant::default(),
        ranking: None,
        user: None,
        session: None,
        kind: "click".into(),
        item: "a".into(),
        fields: vec![],
    }))
}

fn settled(outbox: &mut Outbox) -> Vec<Key> {
    let mut keys: Vec<Key> = outbox.settled().keys().cloned().collect();
    keys.sort();
    keys
}

#[test]
fn a_store_is_brought_some_at_a_time_and_what_it_refused_comes_first_again() {
    let store = Arc::new(Noting::default());
    let mut outbox = outbox(&store, 1, &["a", "b", "c", "d", "e"]);
    assert!(outbox.is_full());
    outbox.flush().expect_err("refuses once");
    assert_eq!((outbox.len(), outbox.unsent_bytes), (5, outbox.unsent.iter().map(|(_, one)| one.bytes()).sum()));
    outbox.flush().expect("takes all");
    let bags: Vec<String> = store.bags.lock().iter().map(|bag| bag.concat()).collect();
    assert_eq!(bags, ["ab", "ab", "cd", "e"]);
    assert_eq!(settled(&mut outbox), ["a", "b", "c", "d", "e"].map(key));
    assert_eq!((outbox.len(), outbox.unsent_bytes, outbox.is_full()), (0, 0, false));
}

#[test]
fn records_on_their_way_count_until_the_store_has_taken_them() {
    let mut outbox = outbox(&Arc::default(), 0, &["a", "b", "c", "d", "e"]);
    let all = outbox.bytes();
    assert!(all > 0);
    outbox.send_after(None).expect("sends two");
    assert_eq!((outbox.unsent.len(), outbox.bytes()), (3, all));
    outbox.flush().expect("takes all");
    assert_eq!(outbox.bytes(), 0);
}

#[test]
fn no_more_than_a_bag_is_left_behind_where_the_store_keeps_up() {
    let store = Arc::new(Noting::default());
    let mut outbox = outbox(&store, 0, &["a", "b", "c", "d", "e"]);
    outbox.send().expect("takes them");
    assert!(outbox.unsent.len() < 2, "{}", outbox.unsent.len());
    outbox.flush().expect("takes all");
    assert_eq!(settled(&mut outbox).len(), 5);
}

#[test]
fn a_record_is_not_forgotten_while_more_under_its_key_is_on_its_way() {
    let store = Arc::new(Noting::default());
    let mut outbox = outbox(&store, 0, &["a", "b"]);
    outbox.flush().expect("takes them");
    outbox.push(Some(key("a")), closed("a"));
    assert_eq!(settled(&mut outbox), [key("b")]);
    outbox.flush().expect("takes that");
    assert_eq!(settled(&mut outbox), [key("a")]);
}

#[test]
fn a_record_that_is_never_taken_is_forgotten_with_the_others() {
    let store = Arc::new(Noting::default());
    let mut outbox = outbox(&store, 1, &["a", "never", "b"]);
    outbox.flush().expect_err("refuses what is left of the first bag");
    assert_eq!(outbox.len(), 2);
    outbox.flush().expect("takes the others");
    let bags: Vec<String> = store.bags.lock().iter().map(|bag| bag.concat()).collect();
    assert_eq!(bags, ["anever", "a", "ab"]);
    assert_eq!(settled(&mut outbox), ["a", "b", "never"].map(key));
}

#[test]
fn what_waits_for_room_is_made_durable_in_haste() {
    let store = Arc::new(Noting::default());
    let mut outbox = outbox(&store, 0, &["a", "b", "c", "d"]);
    outbox.flush_due().expect("brings all");
    assert!(outbox.is_full() && settled(&mut outbox).is_empty(), "the store waits for more");
    let mut durable = 0;
    while durable < 4 {
        outbox.hurry().expect("the store takes all");
        durable += settled(&mut outbox).len();
    }
    assert!(!outbox.is_full());
}

#[test]
fn large_records_are_brought_alone_and_fill_the_room() {
    let store = Arc::new(Noting::default());
    let mut outbox = outbox(&store, 0, &["a", "b"]);
    outbox.limits = Limits { bytes: 1, bag_bytes: 1, ..LIMITS };
    assert!(outbox.is_full());
    outbox.flush().expect("takes all");
    assert_eq!(store.bags.lock().len(), 2);
}
