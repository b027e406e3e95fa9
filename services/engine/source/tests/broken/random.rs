//! Arrays that are printed in several ways, and broken at random places.

use crate::support::{Contents, Folder, batches, contents, limits};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use rankwright_event::Event;
use rankwright_source::Marks;

/// JSON to be printed.
enum Json {
    Text(String),
    List(Vec<Json>),
    Map(Vec<(&'static str, Json)>),
}

/// How arrays are printed.
#[derive(Debug, Clone, Copy)]
enum Layout {
    /// What stands between elements, all else without blanks.
    Compact(&'static str),
    /// A line each key, indented by so much.
    Pretty(usize),
    /// As Jackson does: objects of a list begin on the line where the one before ends.
    Jackson,
}

impl Layout {
    const ALL: [Self; 8] = [
        Self::Compact(","),
        Self::Compact(", "),
        Self::Compact(",\n"),
        Self::Compact("\n,"),
        Self::Compact(",\n  "),
        Self::Pretty(2),
        Self::Pretty(0),
        Self::Jackson,
    ];

    fn print(self, value: &Json, depth: usize) -> String {
        let (open, close, parts) = match value {
            Json::Text(text) => return format!("{text:?}"),
            Json::List(values) => ("[", "]", values.iter().map(|value| self.print(value, self.inner(depth))).collect()),
            Json::Map(keys) => {
                let colon = if matches!(self, Self::Jackson) { " : " } else { ":" };
                let print = |(key, value): &(_, _)| format!("\"{key}\"{colon}{}", self.print(value, depth + 1));
                ("{", "}", keys.iter().map(print).collect::<Vec<_>>())
            }
        };
        match self {
            Self::Jackson if open == "[" => format!("[ {} ]", parts.join(", ")),
            Self::Pretty(_) | Self::Jackson => self.block(open, &parts, close, depth),
            Self::Compact(_) => format!("{open}{}{close}", parts.join(",")),
        }
    }

    /// Depth of what stands in a list.
    fn inner(self, depth: usize) -> usize {
        if matches!(self, Self::Jackson) { depth } else { depth + 1 }
    }

    fn block(self, open: &str, parts: &[String], close: &str, depth: usize) -> String {
        let step = if let Self::Pretty(step) = self { step } else { 2 };
        let line = |depth: usize| format!("\n{}", " ".repeat(step * depth));
        let inner = line(depth + 1);
        format!("{open}{inner}{}{}{close}", parts.join(&format!(",{inner}")), line(depth))
    }

    /// An array of elements.
    fn array(self, elements: &[String]) -> String {
        match self {
            Self::Compact(between) => {
                let line = between.trim_start_matches(',').trim_end_matches(',');
                format!("[{line}{}{}]", elements.join(between), line.trim_end_matches(' '))
            }
            Self::Pretty(_) => format!("{}\n", self.block("[", elements, "]", 0)),
            Self::Jackson => format!("[ {} ]", elements.join(", ")),
        }
    }

    fn element(self, value: &Json) -> String {
        self.print(value, self.inner(0))
    }
}

/// An item event; its kind comes first or last.
fn event(number: usize, backwards: bool) -> Json {
    let text = |text: &str| Json::Text(text.to_owned());
    let field = |name: &str| Json::Map(vec![("name", text(name)), ("value", text("a {b}, [c"))]);
    let fields = ["size", "color", "name"][..number % 4].iter().map(|name| field(name));
    let id = format!("i{number}");
    let mut keys = vec![
        ("event", text("item")),
        ("id", text(&id)),
        ("item", text(&id)),
        ("fields", Json::List(fields.collect())),
        ("timestamp", text("1")),
    ];
    // not known, and somewhat like events
    match number % 3 {
        0 => keys.insert(
            3,
            ("meta", Json::Map(vec![("event", text("x")), ("rows", Json::List(vec![field("a"), field("b")]))])),
        ),
        1 => {
            keys.insert(2, ("history", Json::List(vec![Json::Map(vec![("event", text("click")), ("id", text("c"))])])))
        }
        _ => {}
    }
    if backwards {
        keys.reverse();
    }
    Json::Map(keys)
}

fn numbers(events: &[Event]) -> Vec<String> {
    let item = |event: &Event| match event {
        Event::Item(item) => item.item.to_string(),
        other => panic!("{other:?}"),
    };
    events.iter().map(item).collect()
}

/// What happens to an element.
#[derive(Debug, Clone)]
enum Fault {
    /// A byte is missing.
    Lacks(Index),
    Has(Index, &'static str),
    /// What comes from here on is missing.
    Ends(Index),
    /// What comes before is missing.
    Begins(Index),
    LacksItsEnd,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        3 => any::<Index>().prop_map(Fault::Lacks),
        3 => (any::<Index>(), select(&["\"", "{", "}", "[", "]", ",", ":", "\n", "\\"][..])).prop_map(|(at, what)| Fault::Has(at, what)),
        2 => any::<Index>().prop_map(Fault::Ends),
        2 => Just(Fault::LacksItsEnd),
    ]
}

/// Several, or one of a kind that may complete what another one has left, so that it cannot be told from an event.
fn faults() -> impl Strategy<Value = Vec<(Index, Fault)>> {
    prop_oneof![
        6 => vec((any::<Index>(), fault()), 1..4),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(at, from)| vec![(at, Fault::Begins(from))]),
    ]
}

impl Fault {
    fn of(&self, element: &str) -> String {
        let mut text = element.to_owned();
        match self {
            Self::Lacks(at) => drop(text.remove(at.index(element.len()))),
            Self::Has(at, what) => text.insert_str(at.index(element.len()), what),
            Self::Begins(at) => drop(text.drain(..at.index(element.len()))),
            Self::Ends(at) => text.truncate(1 + at.index(element.len() - 1)),
            Self::LacksItsEnd => {
                let end = text.rfind(']').expect("a list of fields");
                text.truncate(end);
                text.truncate(text.trim_end().len());
            }
        }
        text
    }
}

#[derive(Debug, Clone)]
struct Broken {
    text: String,
    whole: Vec<String>,
}

fn broken() -> impl Strategy<Value = Broken> {
    (select(&Layout::ALL[..]), any::<bool>(), 2..12_usize, faults()).prop_map(|(layout, backwards, count, faults)| {
        let mut elements: Vec<_> = (0..count).map(|number| (true, layout.element(&event(number, backwards)))).collect();
        for (at, fault) in faults {
            let (whole, element) = &mut elements[at.index(count)];
            if std::mem::take(whole) {
                *element = fault.of(element);
            }
        }
        let whole = elements.iter().enumerate().filter(|(_, (whole, _))| *whole);
        let whole = whole.map(|(number, _)| format!("i{number}")).collect();
        let elements: Vec<_> = elements.into_iter().map(|(_, text)| text).collect();
        Broken { text: layout.array(&elements), whole }
    })
}

proptest! {
    #[test]
    fn elements_that_are_whole_are_read_whatever_is_broken_beside_them(broken in broken(), block in 1..300_usize) {
        let read = contents(&Folder::new().with("a.json", &broken.text).open().with_limits(limits(block, 10_000)));
        let read_too = numbers(&read.events);
        let missing: Vec<_> = broken.whole.iter().filter(|id| !read_too.contains(id)).collect();
        prop_assert!(missing.is_empty(), "{missing:?} of\n{}\n{:?}", broken.text, read.reports());
    }

    #[test]
    fn a_broken_file_that_grows_loses_nothing_and_doubles_nothing(broken in broken(), ends in vec(any::<Index>(), 1..4), block in 1..300_usize) {
        let all = contents(&Folder::new().with("a.json", &broken.text).open());
        let mut ends: Vec<_> = ends.iter().map(|end| end.index(broken.text.len())).collect();
        ends.sort_unstable();
        ends.push(broken.text.len());
        let (mut folder, mut read, mut marks) = (Folder::new(), Contents::default(), None);
        for end in ends {
            folder = folder.with("a.json", &broken.text[..end]);
            let files = folder.open().with_limits(limits(block, 10_000));
            let new = batches(&files, marks.as_ref());
            let marks = marks.get_or_insert_with(|| Marks::of(&files));
            new.iter().for_each(|batch| marks.reach(&files, &batch.position));
            new.into_iter().for_each(|batch| read.add(batch));
        }
        prop_assert_eq!(numbers(&read.events), numbers(&all.events), "{}", broken.text);
    }
}

/// Each is in a list of the one before, up to the end of the file: reading all of them again from each would take hours.
#[test]
fn many_elements_that_lack_their_ends_cost_themselves_alone() {
    for layout in Layout::ALL {
        for backwards in [false, true] {
            let good = |number| layout.element(&event(number, backwards));
            let elements: Vec<_> = (0..10_000)
                .map(|number| if number % 2 == 0 { Fault::LacksItsEnd.of(&good(number)) } else { good(number) })
                .collect();
            let read = contents(&Folder::new().with("a.json", layout.array(&elements)).open());
            assert_eq!(read.events.len(), 5000, "{layout:?}, {backwards}");
        }
    }
}
