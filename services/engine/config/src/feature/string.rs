//! `string`: a category.

use super::{Definition, Source, source};
use crate::error::shown;
use crate::schema::{Key, key};
use crate::section::Section;
use crate::value::Value;
use std::collections::HashSet;

/// A category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Where the text or list of texts is.
    pub source: Source,
    /// Known values; never empty.
    pub values: Vec<String>,
    /// One column or one per value.
    pub encode: Encoding,
}

/// How a category becomes numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// One column a known value.
    OneHot,
    /// One column: 0 for none, else the position in the list of values from 1.
    Index,
}

impl Definition for Text {
    const NAME: &str = "string";
    const EXAMPLE: &str = "{name: color, type: string, field: item.color, encode: onehot, values: [red, green, blue]}";
    const DOC: &str =
        "a category: one column with its position among the known values (index), or one column per value (onehot)";
    const OF_FIELDS_ALONE: bool = true;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("encode", "", "`index`: one column with the position among `values`; `onehot`: one column per value. A warning asks for it where it is left out"),
        key("values", "", "the known values, in order"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        let encodings = [("index", Encoding::Index), ("onehot", Encoding::OneHot)];
        let source = source::scoped(section);
        let encode = section.get("encode");
        if encode.is_none() {
            section.leaves_out("encode", &"index".to_owned());
            section.warn(
                "`encode` is missing: index is used here, onehot by the upstream service. Of a list, index reads the first \
                 element alone. Write `encode: index` or `encode: onehot`",
            );
        }
        let encode = encode.and_then(|value| value.choice("encoding", &encodings)).unwrap_or(Encoding::Index);
        let values = section.required("values", "a list of the known values").map(|value| values(&value));
        Some(Self { source: source?, values: values?, encode })
    }

    fn suffixes(&self) -> Vec<String> {
        match self.encode {
            Encoding::OneHot => self.values.clone(),
            Encoding::Index => vec![String::new()],
        }
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.source.clone()]
    }

    fn cut(&self) -> Option<&Source> {
        (self.encode == Encoding::Index).then_some(&self.source)
    }
}

fn values(value: &Value<'_>) -> Vec<String> {
    let mut known = HashSet::new();
    let mut values = Vec::new();
    for element in value.one_or_more("a list of the known values") {
        let Some(text) = element.text() else { continue };
        if known.insert(text.clone()) {
            values.push(text);
        } else {
            element.warn(format!("the value `{}` is listed twice; the second one does nothing", shown(&text)));
        }
    }
    values
}
