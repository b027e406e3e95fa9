use super::*;

fn similar(of: &[(&str, [f32; 2])]) -> Result<Similar, InvalidVectors> {
    let mut vectors = Vectors::new(2);
    of.iter().for_each(|(_, vector)| vectors.push(vector));
    Similar::from_vectors(of.iter().map(|(id, _)| CompactString::new(id)).collect(), vectors, &Build::default())
}

const ITEMS: [(&str, [f32; 2]); 5] =
    [("north", [0.0, 3.0]), ("east", [2.0, 0.0]), ("west", [-1.0, 0.0]), ("slope", [3.0, 4.0]), ("none", [0.0; 2])];

fn none(_: &str) -> bool {
    false
}

#[test]
fn items_are_ordered_by_cosine_to_a_context_which_is_left_out() {
    let similar = similar(&ITEMS).expect("is valid");
    let answer = similar.recommend(&["north"], none, 2);
    assert_eq!(answer, Answer { items: vec![("slope", 0.8), ("east", 0.0)], unknown: 0, nothing: None });
    let all = similar.recommend(&["north"], |item| item == "slope", 100);
    assert_eq!(all.items, [("east", 0.0), ("none", 0.0), ("west", 0.0)]);
    assert!(similar.recommend(&["north"], none, 0).nothing.is_none());
}

#[test]
fn a_context_is_the_mean_of_directions_whatever_lengths_vectors_had() {
    let similar = similar(&ITEMS).expect("is valid");
    let answer = similar.recommend(&["north", "unheard", "east"], none, 1);
    // (1, 1) and (3, 4): 7 / (5 sqrt 2)
    assert_eq!(answer.items[0].0, "slope");
    assert!((answer.items[0].1 - 7.0 / (5.0 * 2.0_f32.sqrt())).abs() < 1e-6);
    assert_eq!(answer.unknown, 1);
}

#[test]
fn a_context_without_answer_has_a_reason() {
    let similar = similar(&ITEMS).expect("is valid");
    let reason = |context: &[&str]| similar.recommend(context, none, 3).nothing;
    assert_eq!(reason(&[]), Some(NoAnswer::EmptyContext));
    assert_eq!(reason(&["unheard"]), Some(NoAnswer::UnknownItems));
    assert_eq!(reason(&["none"]), Some(NoAnswer::NoDirection));
    assert_eq!(reason(&["east", "west"]), Some(NoAnswer::NoDirection));
    assert_eq!(similar.recommend(&["north"], |_| true, 3).nothing, Some(NoAnswer::AllExcluded));
}

#[test]
fn the_order_of_items_changes_nothing() {
    let expected = similar(&ITEMS).expect("is valid");
    let mut items = ITEMS;
    for _ in 0..items.len() {
        items.rotate_left(1);
        assert_eq!(similar(&items).as_ref(), Ok(&expected));
    }
    assert!(expected.knows("slope") && !expected.knows("unheard"));
    assert!(expected.ids().eq(["east", "none", "north", "slope", "west"]));
}

#[test]
fn ids_and_vectors_that_do_not_belong_together_are_refused() {
    let refused = Similar::from_vectors(vec!["a".into()], Vectors::new(2), &Build::default());
    assert_eq!(refused, Err(InvalidVectors::Lengths { ids: 1, vectors: 0 }));
    assert_eq!(similar(&[("b", [1.0; 2]), ("a", [1.0; 2]), ("b", [0.0; 2])]), Err(InvalidVectors::Twice("b".into())));
}
