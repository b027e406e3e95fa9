use super::*;
use proptest::prelude::*;

fn vectors(text: &str, dim: usize) -> Result<Vectors, String> {
    Vectors::read(text.as_bytes(), dim).map_err(|error| error.to_string())
}

#[test]
fn embeddings_are_found_by_name() {
    let read = vectors("a,1,2\n\"red, \"\"shoes\"\"\",-0.5, 1e-3\r\n\r\nб,0,0", 2).expect("valid");
    assert_eq!((read.len(), read.dim(), read.duplicates()), (3, 2, 0));
    assert_eq!(read.get("a"), Some(&[1.0, 2.0][..]));
    assert_eq!(read.get("red, \"shoes\""), Some(&[-0.5, 0.001][..]));
    assert_eq!(read.get("б"), Some(&[0.0, 0.0][..]));
    assert_eq!(read.get("z"), None);
}

#[test]
fn of_several_for_one_name_the_last_counts() {
    let read = vectors("a,1\nb,2\na,3\n", 1).expect("valid");
    assert_eq!((read.get("a"), read.get("b"), read.duplicates()), (Some(&[3.0][..]), Some(&[2.0][..]), 1));
}

#[test]
fn an_error_names_the_line_and_what_it_has() {
    let refused = |text: &str| vectors(text, 2).expect_err("refused");
    assert!(refused("a,1,2\nb,1\n").starts_with("line 2: 2 fields where 3 are expected: a name and 2 numbers"));
    assert!(refused("\"a\nb\",1,2\nc,1,2,3").starts_with("line 3: 4 fields where 3 are expected"));
    assert_eq!(refused("a,1,x"), "line 1, field 3: \"x\" is no finite number");
    for number in ["NaN", "inf", "-Infinity", "", "1e999"] {
        assert_eq!(
            refused(&format!("a,1,2\n\nb,{number},2")),
            format!("line 3, field 2: {number:?} is no finite number")
        );
    }
    assert_eq!(refused("a,1,2\n\"b,1,2\nc,1,2"), "line 2: a quote that does not end");
    assert!(refused("a\"b,1,2").starts_with("line 1: a quote within a field"));
    assert!(refused("\"a\"b,1,2").starts_with("line 1: text behind the closing quote"));
    let bytes: &[u8] = b"a,1\n\xFF,1";
    assert_eq!(Vectors::read(bytes, 1).expect_err("refused").to_string(), "line 2: not UTF-8");
}

#[test]
fn a_mark_of_byte_order_is_no_part_of_a_name() {
    assert_eq!(vectors("\u{FEFF}a,1", 1).expect("valid").get("a"), Some(&[1.0][..]));
}

#[test]
fn scores_are_found_by_pair() {
    let scores = Scores::read("shoe,\"red\nshoe\",0.5\nshoe,hat,-2\nshoe,hat,-3\n".as_bytes()).expect("valid");
    assert_eq!(scores.get("shoe", "red\nshoe"), Some(0.5));
    assert_eq!(scores.get("shoe", "hat"), Some(-3.0));
    assert_eq!(scores.get("hat", "shoe"), None);
    assert_eq!((scores.len(), scores.duplicates()), (2, 1));
    let error = Scores::read("a,b\n".as_bytes()).expect_err("refused").to_string();
    assert!(error.contains("2 fields where 3 are expected"), "{error}");
}

#[test]
fn a_digest_tells_files_apart_by_what_they_hold() {
    let digest = |text: &str| vectors(text, 2).expect("valid").digest();
    let known = digest("a,1,2\nb,3,4\n");
    assert_eq!(known, 15_509_735_074_076_418_151, "it stays the same in every version");
    assert_eq!(known, digest("a,7,7\n\"b\", 3.0,4e0\r\na,1,2"));
    for other in ["a,1,2\n", "a,1,2\nb,3,5", "a,2,1\nb,3,4", "a,3,4\nb,1,2", "a,1,2\nc,3,4", ""] {
        assert_ne!(known, digest(other), "{other}");
    }
    let digest = |text: &str| Scores::read(text.as_bytes()).expect("valid").digest();
    let known = digest("q,a,1\nq,b,2\n");
    assert_eq!(known, 13_396_702_946_516_205_351, "it stays the same in every version");
    assert_eq!(known, digest("q,b,3\nq,b,2.0\nq,a,1"));
    for other in ["q,a,1\n", "q,a,2\nq,b,1", "q,a,1\nb,q,2", ""] {
        assert_ne!(known, digest(other), "{other}");
    }
}

proptest! {
    #[test]
    fn what_is_written_in_quotes_is_read(names in proptest::collection::vec(any::<String>(), 1..20)) {
        let line = |(place, name): (usize, &String)| format!("\"{}\",{place}\r\n", name.replace('"', "\"\""));
        let text: String = names.iter().enumerate().map(line).collect();
        let read = vectors(&text, 1).expect("valid");
        for name in &names {
            let last = names.iter().rposition(|other| other == name).expect("it is one of them");
            prop_assert_eq!(read.get(name), Some(&[last as f32][..]));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(proptest::sample::select(b"a1,\"\n\r.\xFF".to_vec()), 0..60)) {
        let _ = (Vectors::read(&bytes[..], 1), Scores::read(&bytes[..]));
    }
}
