use super::choice::{appeal, attraction, examination};
use super::listing::listing;
use super::visit::Visit;
use super::*;
use rankwright_config::Config;
use rankwright_event::Ranking;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;

const SMALL: Size = Size { items: 400, users: 200, rankings: 2000, days: 5, length: 24, seed: 1 };

fn events(size: Size) -> Vec<Event> {
    Simulation::new(size).collect()
}

fn lines(size: Size) -> Vec<String> {
    events(size).iter().map(json::encode).collect()
}

fn rankings(events: &[Event]) -> impl Iterator<Item = &Ranking> {
    events.iter().filter_map(|event| if let Event::Ranking(ranking) = event { Some(ranking) } else { None })
}

/// Positions of the clicks on each list.
fn clicked(events: &[Event]) -> HashMap<&str, HashSet<usize>> {
    let lists: HashMap<&str, &Ranking> = rankings(events).map(|ranking| (ranking.id.as_str(), ranking)).collect();
    let mut clicked: HashMap<&str, HashSet<usize>> = HashMap::new();
    for event in events {
        let Event::Interaction(act) = event else { continue };
        let ranking = act.ranking.as_ref().expect("every interaction names its list").as_str();
        let at = lists[ranking].items.iter().position(|item| item.id == act.item);
        clicked.entry(ranking).or_default().insert(at.expect("what was clicked was shown"));
    }
    clicked
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_one_others() {
    assert_eq!(lines(SMALL), lines(SMALL));
    assert_ne!(lines(SMALL), lines(Size { seed: 2, ..SMALL }));
}

#[test]
fn events_come_in_the_order_of_time_each_with_an_id_of_its_own() {
    let (events, mut ids) = (events(SMALL), HashSet::new());
    assert!(events.is_sorted_by_key(Event::timestamp));
    for event in &events {
        let id = match event {
            Event::Item(event) => event.id.as_str(),
            Event::User(event) => event.id.as_str(),
            Event::Ranking(event) => event.id.as_str(),
            Event::Interaction(event) => event.id.as_str(),
        };
        assert!(ids.insert(id), "{id}");
    }
}

#[test]
fn a_history_of_many_years_ends_where_one_of_a_year_does() {
    let last = |days| events(Size { days, ..SMALL }).iter().map(Event::timestamp).max().expect("some").millis();
    let years = events(Size { days: 8030, ..SMALL });
    let (first, newest) = (years[0].timestamp().millis(), years[years.len() - 1].timestamp().millis());
    assert!(years.is_sorted_by_key(Event::timestamp) && newest <= last(365));
    assert!((newest - first) / clock::DAY > 8000, "it begins as much earlier");
    let days: HashSet<i64> = years.iter().map(|event| event.timestamp().millis() / clock::DAY).collect();
    assert!((600..=810).contains(&days.len()), "events lie on a tenth of the days: {}", days.len());
    assert!(years.len() < 20_000, "prices change no more often than lists are shown");
}

#[test]
fn what_an_event_refers_to_was_there_before() {
    let (events, mut items, mut users) = (events(SMALL), HashSet::new(), HashSet::new());
    let mut lists: HashMap<&str, HashSet<&str>> = HashMap::new();
    for event in &events {
        match event {
            Event::Item(event) => drop(items.insert(event.item.as_str())),
            Event::User(event) => drop(users.insert(event.user.as_str())),
            Event::Ranking(event) => {
                let shown: HashSet<&str> = event.items.iter().map(|item| item.id.as_str()).collect();
                assert!(shown.is_subset(&items) && shown.len() == 24);
                assert!(event.user.as_ref().is_none_or(|user| users.contains(user.as_str())));
                lists.insert(event.id.as_str(), shown);
            }
            Event::Interaction(event) => {
                let list = &lists[event.ranking.as_ref().expect("every interaction names its list").as_str()];
                assert!(list.contains(event.item.as_str()));
            }
        }
    }
    assert_eq!((items.len(), lists.len()), (SMALL.items, 2000));
}

#[test]
fn events_survive_being_written_and_read() {
    for event in events(Size { rankings: 50, ..SMALL }) {
        assert_eq!(json::decode(json::encode(&event).as_bytes()), Ok(event));
    }
}

#[test]
fn clicks_fall_with_the_position() {
    let (events, mut counts) = (events(SMALL), [0; 24]);
    clicked(&events).values().flatten().for_each(|&position| counts[position] += 1);
    let (top, bottom): (usize, usize) = (counts[..3].iter().sum(), counts[21..].iter().sum());
    assert!(top > 3 * bottom && bottom > 0, "{counts:?}");
    assert!(examination(0) == 1.0 && examination(23) < 0.25);
}

#[test]
fn lists_have_the_clicks_and_purchases_of_a_shop() {
    let mut summary = Summary::default();
    events(SMALL).iter().for_each(|event| summary.count(event));
    assert_eq!(summary.rankings, 2000);
    assert!((2000..8000).contains(&summary.clicks), "{summary}");
    assert!((summary.clicks / 20..summary.clicks / 3).contains(&summary.purchases), "{summary}");
    assert!(summary.items > 400 && (100..=200).contains(&summary.users), "{summary}");
}

/// NDCG@10 with a gain of 1 for a click.
fn ndcg(clicks: impl Iterator<Item = bool>) -> f64 {
    let clicks: Vec<bool> = clicks.collect();
    let gain = |clicks: &mut dyn Iterator<Item = bool>| -> f64 {
        let discounted = |(at, clicked)| if clicked { 1.0 / (at as f64 + 2.0).log2() } else { 0.0 };
        clicks.take(10).enumerate().map(discounted).sum()
    };
    let best = gain(&mut (0..clicks.iter().filter(|&&clicked| clicked).count()).map(|_| true));
    gain(&mut clicks.into_iter()) / best
}

/// NDCG@10 of the order shown, and of the one by hidden appeal, on a list of a visit that was not there yet.
fn shown_and_ideal(shop: &Simulation, number: u64) -> Option<(f64, f64)> {
    let mut visit = Visit::new(SMALL.seed, number, 1, SMALL.users);
    let shown = listing(&shop.catalog, &visit.query, SMALL.length, &mut visit.random);
    let now = clock::START + 4 * clock::DAY;
    let appeals = shown.iter().map(|shown| appeal(&shop.catalog.items[shown.item as usize], &visit, now, &shop.market));
    let appeals: Vec<f64> = appeals.collect();
    let clicks = appeals.iter().enumerate();
    let clicks = clicks.map(|(at, &appeal)| visit.random.chance(examination(at) * attraction(appeal)));
    let clicks: Vec<bool> = clicks.collect();
    let mut order: Vec<usize> = (0..shown.len()).collect();
    order.sort_by(|&one, &other| appeals[other].total_cmp(&appeals[one]));
    let ideal = ndcg(order.iter().map(|&position| clicks[position]));
    clicks.contains(&true).then(|| (ndcg(clicks.iter().copied()), ideal))
}

#[test]
fn a_model_that_knew_the_visitors_would_beat_the_order_shown_by_far() {
    let mut shop = Simulation::new(SMALL);
    shop.by_ref().for_each(drop);
    let lists: Vec<(f64, f64)> = (1_000_000..1_002_000).filter_map(|number| shown_and_ideal(&shop, number)).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| lists.iter().map(of).sum::<f64>() / lists.len() as f64;
    let (shown, ideal) = (mean(|list| list.0), mean(|list| list.1));
    eprintln!("NDCG@10 of {} lists: as shown {shown:.3}, by hidden appeal {ideal:.3}", lists.len());
    assert!(shown < 0.5 && ideal > shown + 0.2, "as shown {shown:.3}, by hidden appeal {ideal:.3}");
}

#[test]
fn the_configuration_is_right_and_uses_what_events_offer() {
    let (config, warnings) = Config::parse(&configuration::text(Path::new("/a \"shop\"/terms.dict")), "config.yml")
        .expect("it has no mistakes");
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(config.models.keys().collect::<Vec<_>>(), ["lightgbm", "popular", "similar", "xgboost"]);
    assert!(config.features.len() > 30);
}

fn smallest(out: PathBuf) -> Options {
    Options { out, items: 1, users: 1, rankings: 1, days: 1, length: 24, seed: 0, plain: true }
}

#[test]
fn files_of_your_own_stay_and_nothing_is_written() {
    for plain in [true, false] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = Options { plain, ..smallest(folder.path().to_owned()) };
        let run = || run(&options, &AtomicBool::new(false));
        let events = if plain { "events.jsonl" } else { "events.jsonl.gz" };
        let place = |name: &str| folder.path().join(name);
        for name in [events, "config.yml", "request.txt", "terms.dict"] {
            fs::write(place(name), "my own\n").expect("can be written");
            let refused = run().expect_err("is refused").to_string();
            assert!(refused.contains(&*place(name).to_string_lossy()), "{name}: {refused}");
            assert!(refused.ends_with("name another folder"), "{name}: {refused}");
            assert_eq!(fs::read_to_string(place(name)).expect("is there"), "my own\n");
            assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "{name}");
            fs::remove_file(place(name)).expect("was there");
        }
        run().expect("nothing is in the way");
        run().expect("replaces its own");
        let text = fs::read_to_string(place("config.yml")).expect("was written");
        let edited = text.replace("type: memory", "type: file");
        assert_ne!(edited, text);
        fs::write(place("config.yml"), &edited).expect("can be written");
        let refused = run().expect_err("is refused").to_string();
        assert!(refused.contains("config.yml, which you may have written or edited"), "{refused}");
        assert_eq!(fs::read_to_string(place("config.yml")).expect("is there"), edited);
    }
}

#[test]
fn a_file_in_place_of_the_folder_is_told() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let refused = run(&smallest(file.path().to_owned()), &AtomicBool::new(false)).expect_err("is refused");
    assert!(refused.to_string().ends_with("is a file: name a folder"), "{refused:#}");
}

#[test]
fn files_are_written_and_the_smallest_shop_works() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = smallest(folder.path().join("new"));
    let summary = run(&options, &AtomicBool::new(false)).expect("the folder can be written");
    let events = fs::read_to_string(&summary.events_file).expect("events are there");
    assert_eq!(events.lines().count() as u64, summary.events());
    let request = fs::read(&summary.request_file).expect("a request is there");
    let request = json::decode_ranking_request(&request).expect("the request is one");
    assert!(summary.span.is_some_and(|(_, last)| request.timestamp > last) && request.items.len() == 1);
    assert!(summary.to_string().contains("1 rankings"));
}
