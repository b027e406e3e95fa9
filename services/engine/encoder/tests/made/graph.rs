//! Graphs made by hand, as the protobuf messages of ONNX: small enough to work out what they give.

/// Types of tensors.
pub(crate) const FLOAT: u64 = 1;
pub(crate) const INT32: u64 = 6;
pub(crate) const INT64: u64 = 7;

/// A graph that grows node by node.
#[derive(Default)]
pub(crate) struct Made {
    parts: Vec<u8>,
}

impl Made {
    /// A graph with inputs of a type, of rows and a width.
    pub(crate) fn of(kind: u64, inputs: &[&str]) -> Self {
        let mut made = Self { parts: field(2, b"made") };
        inputs.iter().for_each(|name| made.parts.extend(field(11, &value(name, kind, &["rows", "width"]))));
        made
    }

    /// Adds a node; attributes are whole numbers, or lists of them.
    pub(crate) fn node(mut self, kind: &str, inputs: &[&str], output: &str, attributes: &[(&str, Attribute)]) -> Self {
        let mut node: Vec<u8> = inputs.iter().flat_map(|input| field(1, input.as_bytes())).collect();
        node.extend([field(2, output.as_bytes()), field(4, kind.as_bytes())].concat());
        attributes.iter().for_each(|(name, attribute)| node.extend(field(5, &attribute.named(name))));
        self.parts.extend(field(1, &node));
        self
    }

    /// Says that a value is an output, of a type and with as many dimensions as there are names.
    pub(crate) fn output(mut self, name: &str, kind: u64, shape: &[&str]) -> Self {
        self.parts.extend(field(12, &value(name, kind, shape)));
        self
    }

    /// The file.
    pub(crate) fn file(&self) -> Vec<u8> {
        [number(1, 6), field(8, &number(2, 11)), field(7, &self.parts)].concat()
    }
}

/// What says how a node computes.
pub(crate) enum Attribute {
    Int(u64),
    Ints(u64),
}

impl Attribute {
    fn named(&self, name: &str) -> Vec<u8> {
        let value = match self {
            Self::Int(value) => [number(3, *value), number(20, 2)],
            Self::Ints(value) => [number(8, *value), number(20, 7)],
        };
        [field(1, name.as_bytes()), value.concat()].concat()
    }
}

fn value(name: &str, kind: u64, shape: &[&str]) -> Vec<u8> {
    let dims: Vec<u8> = shape.iter().flat_map(|dim| field(1, &field(2, dim.as_bytes()))).collect();
    let tensor = [number(1, kind), field(2, &dims)].concat();
    [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
}

fn field(tag: u64, content: &[u8]) -> Vec<u8> {
    [&varint(tag << 3 | 2), &varint(content.len() as u64), content].concat()
}

fn number(tag: u64, value: u64) -> Vec<u8> {
    [varint(tag << 3), varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push((value & 127 | 128) as u8);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
