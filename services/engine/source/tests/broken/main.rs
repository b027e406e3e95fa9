//! What is broken in arrays of events costs itself alone, whatever they are printed like.
#![allow(clippy::expect_used, missing_docs)]

mod random;
#[path = "../support/mod.rs"]
mod support;

use rankwright_event::Event;
use rankwright_source::Marks;
use support::{Contents, Folder, array, batches, contents, items, limits, lines};

#[test]
fn an_array_that_is_not_closed_or_not_alone_is_reported_at_its_end() {
    let whole = array(&items([1, 2]));
    let (open, cut) = (&whole[..whole.len() - 1], &whole[..whole.len() - 5]);
    let unclosed = "the array is not closed: expected `]`, found the end of the file";
    for (text, events, report) in [
        (open.to_owned(), items([1, 2]), format!("a.json:2: {unclosed}")),
        (format!("{open},\n"), items([1, 2]), format!("a.json:3: {unclosed}")),
        (format!("{open},\"a\\"), items([1, 2]), format!("a.json:2: {unclosed}")),
        (cut.to_owned(), items([1]), format!("a.json:2: {unclosed}")),
        ("[".to_owned(), items([]), format!("a.json:1: {unclosed}")),
        (
            format!("{whole}\nrest \n {whole}"),
            items([1, 2, 1, 2]),
            "a.json:3: expected `[`, `{` or the end of the file after an array".to_owned(),
        ),
    ] {
        for block in [1, 3, 1000] {
            let folder = Folder::new().with("a.json", &text).with("b.json", lines(&items([3])));
            let read = contents(&folder.open().with_limits(limits(block, 1000)));
            assert_eq!(
                (read.reports(), read.events),
                (vec![report.clone()], [&events[..], &items([3])].concat()),
                "{text}"
            );
        }
    }
}

/// An item event whose kind comes last.
fn backwards(number: i64) -> String {
    format!(
        "{{\"id\":\"i{number}\",\"item\":\"i{number}\",\"timestamp\":\"{number}\",\"fields\":[],\"event\":\"item\"}}"
    )
}

#[test]
fn what_is_broken_in_an_array_or_before_lines_costs_itself_alone() {
    let (good, more) = (lines(&items([1, 2, 3])), lines(&items([4, 5])));
    let listed = good.trim_end().replace('\n', ",\n");
    let others = [1, 2, 3].map(backwards).join("\n,");
    let cut = "{\"event\":\"item\",\"fields\":[{\"name\":\"a\",\"value\":1},";
    let glued = "{\"event\":\"item\",\"id\":\"i9\":\"size\",\"value\":1}]}";
    let pretty = |broken: &str| {
        let nested = "{\n    \"event\": \"item\",\n    \"fields\": [\n      {\"name\": \"a\"}\n";
        format!("[\n  {nested}{broken}\n  }},\n  {}\n]\n", listed.replace('\n', "\n  "))
    };
    for (text, expected, bad) in [
        // before lines
        (format!("[]\n{good}"), items([1, 2, 3]), 0),
        (format!("[\"a\"]\n{good}"), items([1, 2, 3]), 1),
        (format!("[{}]\n{good}", more.trim_end().replace('\n', ",")), items([4, 5, 1, 2, 3]), 0),
        (format!("[\n{good}"), items([1, 2, 3]), 2),
        (format!("[{{\"event\":\"item\",\n{good}"), items([1, 2, 3]), 3),
        (format!("[1,2\n{good}"), items([1, 2, 3]), 4),
        (format!("[\"x\n{good}"), items([1, 2, 3]), 3),
        (format!("[]\n{good}[{}]\n{good}", more.trim_end().replace('\n', ",")), items([1, 2, 3, 4, 5, 1, 2, 3]), 0),
        // within an array
        (format!("[{{\"a\":[1,2}},\n{listed}]"), items([1, 2, 3]), 1),
        (format!("[{{\"event\":\"item\",\"id\":\"q\n,{listed}]"), items([1, 2, 3]), 1),
        (format!("[{{\"event\":\"item\",\"id\":\"q\n{listed}]"), items([1, 2, 3]), 1),
        (format!("[{{\"a\":1}}}}\n,{listed}\n]\n[{listed}]"), items([1, 2, 3, 1, 2, 3]), 2),
        (format!("[{{\"a\":[1}}\n,{}]", listed.replace(",\n", "\n,")), items([1, 2, 3]), 1),
        (format!("[{{\"a\":[1}},{}]", listed.replace('\n', "")), items([1, 2, 3]), 1),
        // cut within a list, which the next elements seem to be in
        (format!("[{cut}\n{listed}]"), items([1, 2, 3]), 1),
        (format!("[{listed},\n{cut}\n{listed},\n{cut}\n{listed}]"), items([1, 2, 3, 1, 2, 3, 1, 2, 3]), 2),
        (format!("[{cut}{}]", listed.replace('\n', "")), items([1, 2, 3]), 1),
        (format!("[\n[{listed}]"), items([1, 2, 3]), 1),
        (format!("[{listed},\n[{listed}]"), items([1, 2, 3, 1, 2, 3]), 1),
        (format!("[\n{cut}\n{good}"), items([1, 2, 3]), 3),
        // no event begins with its kind
        (format!("[\n{{\"id\":\"b\",\"fields\":[{{\"a\":1}},\n,{others}\n]"), items([1, 2, 3]), 1),
        (format!("[\n{{\"id\":\"b\",\"fields\":[{{\"name\":\"price\"\n, {others}\n]"), items([1, 2, 3]), 1),
        (format!("[\n[\n  {}\n]", others.replace("\n,", ",\n  ")), items([1, 2, 3]), 1),
        (
            format!("[{{\"id\":\"a\\\n,{}]", listed.replace("\"fields\":[]", "\"x\":\"a \\\" b\",\"fields\":[]")),
            items([1, 2, 3]),
            1,
        ),
        (format!("[{{{{\n{listed}]"), items([1, 2, 3]), 1),
        (format!("[\"{}]", listed.replace('\n', "")), items([1, 2, 3]), 1),
        // another array follows
        (format!("[\n{{\"id\":\"b\n[{others}]\n"), items([1, 2, 3]), 1),
        (format!("[\n{{\"id\":\"b\",\"fields\":[{{\"a\":1}},\n[{others}]\n"), items([1, 2, 3]), 1),
        (format!("[\n{{\"id\":\"b\n[]\n[{others}\n]\n[{listed}]"), items([1, 2, 3, 1, 2, 3]), 1),
        (format!("[{}]", good.trim_end()), items([1, 2, 3]), 1),
        (pretty("    }"), items([1, 2, 3]), 1),
        // beside what is whole
        (format!("[]\n{}garbage\n{}", lines(&items([1])), lines(&items([2, 3]))), items([1, 2, 3]), 1),
        (
            format!("[{} x,{}]", lines(&items([1])).trim_end(), lines(&items([2, 3])).trim_end().replace('\n', ",")),
            items([1, 2, 3]),
            2,
        ),
        (format!("[{{\"id\":\"a 24\" s\"}}{}\n{more}", backwards(3)), items([3, 4, 5]), 3),
        (format!("[{{\"id\":\"a 24\" s\"}}]{}\n{more}", backwards(3)), items([3, 4, 5]), 3),
        (
            format!("[{{\"id\":\"a 24\" s\"}},{},{listed}]", backwards(1).replace('}', ",\"event\":\"item\"}")),
            items([1, 1, 2, 3]),
            1,
        ),
        // before a bracket that closes nothing
        (format!("[{listed}}}]"), items([1, 2, 3]), 1),
        (format!("[\n{listed}\n}},\n{listed}\n]"), items([1, 2, 3, 1, 2, 3]), 1),
        (format!("[{}}},{}]", listed.replace('\n', ""), listed.replace('\n', "")), items([1, 2, 3, 1, 2, 3]), 1),
        (format!("[{others}\n}},\n{others}\n]"), items([1, 2, 3, 1, 2, 3]), 1),
        (format!("[\n{listed}\n}}\n"), items([1, 2, 3]), 2),
        (format!("[]\n{}}}\n{more}", good.trim_end()), items([1, 2, 3, 4, 5]), 1),
        // what one lacks another one has
        (format!("[{cut}{},{{\"name\":\"b\"}}]}},{listed}]", listed.replace('\n', "")), items([1, 2, 3, 1, 2, 3]), 1),
        (format!("[{cut}{},{glued},{listed}]", listed.replace('\n', "")), items([1, 2, 3, 1, 2, 3]), 1),
        (format!("[\n{cut}\n{listed},\n{glued},\n{listed}]"), items([1, 2, 3, 1, 2, 3]), 1),
    ] {
        for block in [1, 3, 1000] {
            let read = contents(&Folder::new().with("a.json", &text).open().with_limits(limits(block, 1000)));
            assert_eq!(read.events, expected, "{text}\n{:?}", read.reports());
            assert_eq!(read.reports().len(), bad, "{text}\n{:?}", read.reports());
        }
    }
}

/// Where all stands on one line, that says little.
#[test]
fn what_is_broken_behind_others_on_its_line_is_reported_with_its_place() {
    let whole = array(&items([1])).replace(['[', ']'], "");
    let whole = whole.replace("\"fields\":", "\"fields\":[]");
    let (cut, wrong) = (&whole[..whole.len() - 1], whole.replace("\"1\"", "NaN"));
    let column = |before: &str| before.len() + 1;
    let text = format!("[{whole} {whole},{cut},{wrong},{whole}}},{whole}\n,{wrong}]\n[{whole},{wrong}]");
    let place = |what: &str, nth: usize| text.match_indices(what).nth(nth).expect("it is there").0;
    let read = contents(&Folder::new().with("a.json", &text).open());
    let in_line = |at: usize| at - text[..at].rfind('\n').map_or(0, |newline| newline + 1) + 1;
    let reports = read.reports();
    assert_eq!(read.events, items([1, 1, 1, 1, 1]), "{reports:#?}");
    let stray = place("}}", 0) + 1;
    assert_eq!(
        reports,
        [
            "a.json:1: expected `,` between this element and the one before".to_owned(),
            format!(
                "a.json:1: the element has a value in place of a key (column {})",
                column(&format!("[{whole} {whole},"))
            ),
            format!(
                "a.json:1: [3].timestamp: expected a time: a string or a number, found `N` (column {})",
                in_line(place("NaN", 0))
            ),
            format!("a.json:1: expected `,` or `]` behind the element, found `}}` (column {})", in_line(stray)),
            "a.json:2: [6].timestamp: expected a time: a string or a number, found `N`".to_owned(),
            format!(
                "a.json:3: [1].timestamp: expected a time: a string or a number, found `N` (column {})",
                in_line(place("NaN", 2))
            ),
        ]
    );
}

/// An element that lacks its end seems to hold all that follows.
#[test]
fn what_can_be_read_of_a_damaged_file_is_as_in_a_whole_one() {
    let cut = "{\"event\":\"item\",\"fields\":[{\"name\":\"a\",\"value\":1}";
    let listed = lines(&items([1, 2, 3])).trim_end().replace('\n', ",\n");
    let text = format!("[\n{cut},\n{listed}\n]\n");
    let (gzip, zstd) = (support::gzip(text.as_bytes()), support::zstd(text.as_bytes()));
    let mut changed = gzip.clone();
    let checksum = gzip.len() - 8;
    changed[checksum] ^= 1;
    for (name, bytes) in [
        ("a.json.gz", changed),
        ("a.json.gz", gzip[..gzip.len() - 4].to_vec()),
        ("a.json.gz", [&gzip[..], &[0; 512]].concat()),
        ("a.json.zst", [&zstd[..], &zstd[..7]].concat()),
    ] {
        for block in [1, 30, 10_000] {
            let folder = Folder::new().with_bytes(name, &bytes);
            let read = contents(&folder.open().with_limits(limits(block, 10_000)));
            let reports = read.reports();
            assert_eq!(read.events, items([1, 2, 3]), "{reports:?}");
            assert_eq!(reports.len(), 2, "{reports:?}");
            assert_eq!(reports[0], format!("{name}:2: the element does not end"));
            assert!(reports[1].contains("the file is damaged"), "{reports:?}");
        }
    }
}

/// The last event before that is whole.
#[test]
fn an_event_right_before_the_damage_is_read() {
    let text = array(&items([1, 2, 3]));
    let packed = [support::gzip(&text.as_bytes()[..text.len() - 1]), b"no part".to_vec()].concat();
    let read = contents(&Folder::new().with_bytes("a.json.gz", &packed).open());
    assert_eq!(read.events, items([1, 2, 3]), "{:?}", read.reports());
    assert!(read.reports().len() == 1 && read.reports()[0].contains("the file is damaged"), "{:?}", read.reports());
}

/// A writer that adds to an array replaces its end; before the first array there may be blanks.
#[test]
fn an_array_that_is_written_anew_with_more_in_it_is_read_on() {
    let whole = array(&items(0..100));
    let pretty = |count| format!("[\n{}\n]\n", lines(&items(1..count)).trim_end().replace('\n', ",\n"));
    let commas = |count| format!("[\n{}]\n", lines(&items(1..count)).replace('\n', ",\n"));
    let listed = |number| format!("{}]", lines(&items([number])).trim_end());
    // of this number of bytes, without its end
    let open = |bytes: usize| {
        let text = array(&items(0..40));
        let text = text.strip_suffix(']').expect("its end");
        format!("{text}{}", " ".repeat(bytes - text.len()))
    };
    let grown = |bytes, end: &str| {
        let more = format!("{},{}", open(bytes), listed(41));
        [format!("{}{end}", open(bytes)), more.clone(), more]
    };
    let below = |count| format!("\n\n\n{}", array(&items(1..count)));
    for texts in [
        ["[]".to_owned(), array(&items([1])), array(&items([1, 2]))],
        ["[\n]\n".to_owned(), pretty(2), pretty(3)],
        ["\n\n\n".to_owned(), below(2), below(3)],
        // with a comma behind each, or a byte order mark
        [commas(2), commas(3), commas(4)],
        [format!("\u{feff}{}", pretty(2)), format!("\u{feff}{}", pretty(3)), format!("\u{feff}{}", pretty(4))],
        // as long as the head that a file is known by, and about that
        grown(4095, "]"),
        grown(4095, "]\n"),
        grown(4096, "]\n"),
        grown(4090, "]\n\n\n\n\n\n\n\n\n"),
        [
            whole.clone(),
            format!("{},\n{}", &whole[..whole.len() - 1], &array(&items([100]))[1..]),
            array(&items(0..102)),
        ],
    ] {
        let (mut folder, mut read, mut marks) = (Folder::new(), Contents::default(), None);
        for text in &texts {
            folder = folder.with("a.json", text);
            let files = folder.open();
            let new = batches(&files, marks.as_ref());
            let marks = marks.get_or_insert_with(|| Marks::of(&files));
            new.iter().for_each(|batch| marks.reach(&files, &batch.position));
            new.into_iter().for_each(|batch| read.add(batch));
        }
        let last = contents(&folder.open());
        assert_eq!(read.events, last.events, "{}", texts[2]);
    }
}

/// Events whose first key is no sign of one, and texts with what could be taken for the ends of others.
#[test]
fn a_text_that_is_not_closed_costs_its_element_alone_wherever_the_next_one_begins() {
    let texts = ["a 24\\\" screen", "size {M}", "pack [2x], {", "}, {", "plain"];
    let event = |number: usize, backwards: bool| {
        let title = format!("[{{\"name\":\"title\",\"value\":\"{}\"}}]", texts[number % texts.len()]);
        let (kind, rest) = (
            "\"event\":\"item\"",
            format!("\"id\":\"i{number}\",\"item\":\"i{number}\",\"timestamp\":\"{number}\",\"fields\":{title}"),
        );
        if backwards { format!("{{{rest},{kind}}}") } else { format!("{{{kind},{rest}}}") }
    };
    let numbers = |read: &Contents| -> Vec<String> {
        let items = read.events.iter().map(|event| match event {
            Event::Item(item) => item.item.to_string(),
            other => panic!("{other:?}"),
        });
        items.collect()
    };
    for backwards in [false, true] {
        for (open, between, close) in [("[", ",", "]"), ("[ ", ", ", " ]"), ("[\n", ",\n", "\n]"), ("[", "\n,", "]\n")]
        {
            for at in [0, 3, 7] {
                let mut events: Vec<_> = (0..20).map(|number| event(number, backwards)).collect();
                let whole = events[at].clone();
                for broken in [
                    whole.replacen("\",", ",", 1),
                    whole[..whole.find(":\"i").expect("it has an id") + 3].to_owned(),
                    whole.replacen(":\"i", ":i", 1),
                ] {
                    events[at] = broken;
                    let text = format!("{open}{}{close}", events.join(between));
                    for block in [1, 50, 10_000] {
                        let read =
                            contents(&Folder::new().with("a.json", &text).open().with_limits(limits(block, 10_000)));
                        let expected: Vec<_> =
                            (0..20).filter(|number| *number != at).map(|number| format!("i{number}")).collect();
                        assert_eq!(numbers(&read), expected, "{text}\n{:?}", read.reports());
                    }
                }
            }
        }
    }
}

/// As Jackson prints arrays: an object begins on the line where the one before ends.
#[test]
fn an_element_that_begins_behind_the_end_of_a_broken_one_is_read() {
    let event = |number: usize| {
        let key = |key: &str, value: &str| format!("\n  \"{key}\" : \"{value}\"");
        let name = format!("i{number}");
        let keys = [key("id", &name), key("item", &name), key("timestamp", "1"), key("event", "item"), "\n  \"fields\" : [ {\n    \"name\" : \"a\",\n    \"value\" : 1\n  }, {\n    \"name\" : \"b\",\n    \"value\" : 2\n  } ]".to_owned()];
        format!("{{{}\n}}", keys.join(","))
    };
    let whole: Vec<_> = (0..9).map(event).collect();
    for broken in [
        whole[3].replacen("\"1\"", "\"1", 1),
        whole[3].replace(" ]\n", "\n"),
        whole[3][..60].to_owned(),
        whole[3][..whole[3].len() - 30].to_owned(),
    ] {
        let mut events = whole.clone();
        events[3] = broken;
        let text = format!("[ {} ]", events.join(", "));
        for block in [1, 50, 10_000] {
            let read = contents(&Folder::new().with("a.json", &text).open().with_limits(limits(block, 10_000)));
            assert_eq!((read.events.len(), read.reports().len()), (8, 1), "{text}\n{:?}", read.reports());
        }
    }
}

/// More broken elements than can be looked at again at some effort each.
#[test]
fn many_broken_elements_cost_themselves_alone() {
    let good = "{\n  \"id\" : \"i\",\n  \"item\" : \"i\",\n  \"timestamp\" : \"1\",\n  \"event\" : \"item\",\n  \"fields\" : [ ]\n}";
    let bad = good.replace("\"1\"", "\"a 24\" screen\"");
    let pair = format!("{bad}, {good}");
    let text = format!("[ {} ]", vec![pair; 25_000].join(", "));
    let read = contents(&Folder::new().with("a.json", &text).open());
    assert_eq!((read.events.len(), read.reports().len()), (25_000, 25_000));
}

/// A file that is written while it is read: what is cut off is read when it is whole, and counted no earlier.
#[test]
fn an_element_that_is_still_being_written_is_read_when_it_is_whole() {
    let field = "{\n\"name\":\"a\",\n\"value\":1\n}";
    let pretty = |number: usize| {
        let id = format!("\"event\":\"item\",\n\"id\":\"i{number}\",\n\"item\":\"i{number}\",\n\"timestamp\":\"1\",");
        format!("{{\n{id}\n\"meta\":{{\"event\":\"x\",\"y\":1}},\n\"fields\":[\n{field},\n{field}\n]\n}}")
    };
    let whole = format!("[\n{}\n]\n", (1..4).map(pretty).collect::<Vec<_>>().join(",\n"));
    let all = contents(&Folder::new().with("a.json", &whole).open());
    assert_eq!((all.events.len(), all.reports().len()), (3, 0));
    for end in 0..whole.len() {
        let folder = Folder::new().with("a.json", &whole[..end]);
        let files = folder.open();
        let (mut marks, first) = (Marks::of(&files), batches(&files, None));
        first.iter().for_each(|batch| marks.reach(&files, &batch.position));
        let folder = folder.with("a.json", &whole);
        let rest = batches(&folder.open(), Some(&marks));
        let events: Vec<_> = first.into_iter().chain(rest).flat_map(|batch| batch.events).collect();
        assert!(events == all.events, "{} events of {}", events.len(), &whole[..end]);
    }
}

/// Lines within it begin as elements do, and are none.
#[test]
fn an_element_beyond_the_limit_is_one_record_whatever_its_lines_look_like() {
    let fields = "{\"name\":\"a\",\"value\":1},\n".repeat(100);
    let long = format!("{{\"event\":\"item\",\"fields\":[\n{fields}{{\"name\":\"b\"}}]}}");
    let text = format!("[\n{},\n{long},\n{}]", lines(&items([1])).trim_end(), lines(&items([2])).trim_end());
    for block in [1, 10, 100_000] {
        let read = contents(&Folder::new().with("a.json", &text).open().with_limits(limits(block, 200)));
        assert_eq!(read.events, items([1, 2]), "block {block}");
        assert_eq!(read.reports(), ["a.json:3: longer than 200 bytes"], "block {block}");
    }
}
