//! Texts become numbers of tokens.

use super::ModelError;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use tokenizers::utils::truncation::{TruncationParams, TruncationStrategy};
use tokenizers::{EncodeInput, Tokenizer};

/// Of a longer text no more bytes for each token are looked at: a word seldom has as many.
const BYTES_A_TOKEN: usize = 64;

/// A tokenizer that cuts texts to what its model takes.
pub(crate) struct Tokens {
    tokenizer: Tokenizer,
    max_tokens: usize,
    pad: u32,
}

/// The tokens of a text, or of a pair of texts; one at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub(crate) ids: Vec<u32>,
    pub(crate) types: Vec<u32>, // 1 for the second text of a pair
}

impl Tokens {
    pub(crate) fn read(path: &Path) -> Result<Self, ModelError> {
        let text = fs::read(path).map_err(|source| ModelError::Read { path: path.to_owned(), source })?;
        let tokenizer = Tokenizer::from_bytes(text)
            .map_err(|error| ModelError::NoTokenizer { path: path.to_owned(), cause: error.to_string() })?;
        let padding = tokenizer.get_padding().map(|padding| padding.pad_id);
        let pad = padding.or_else(|| ["[PAD]", "<pad>"].iter().find_map(|token| tokenizer.token_to_id(token)));
        Ok(Self { tokenizer, max_tokens: usize::MAX, pad: pad.unwrap_or(0) })
    }

    /// What the file cuts texts to.
    pub(crate) fn trained(&self) -> Option<usize> {
        self.tokenizer.get_truncation().map(|truncation| truncation.max_length)
    }

    /// Cuts texts to this number of tokens, in a pair the longer one first. Nothing is padded here.
    pub(crate) fn cut_to(mut self, max_tokens: usize) -> Self {
        let strategy = TruncationStrategy::LongestFirst;
        let truncation =
            TruncationParams { max_length: max_tokens, strategy, stride: 0, ..TruncationParams::default() };
        self.tokenizer.with_padding(None);
        self.tokenizer.with_truncation(Some(truncation)).expect("without a stride any length is taken");
        self.max_tokens = max_tokens;
        self
    }

    /// What is put behind shorter texts of a batch.
    pub(crate) fn pad(&self) -> u32 {
        self.pad
    }

    /// The tokens of a text and perhaps another one that belongs to it; `Err` says what the tokenizer does.
    pub(crate) fn encode(&self, text: &str, pair: Option<&str>) -> Result<Encoded, String> {
        let input = match pair {
            None => EncodeInput::Single(self.start(text).into()),
            Some(pair) => EncodeInput::Dual(self.start(text).into(), self.start(pair).into()),
        };
        // the library panics on some tokenizers' mistakes
        let encoding = catch_unwind(AssertUnwindSafe(|| self.tokenizer.encode_fast(input, true)));
        let encoding = encoding.map_err(|_| "the tokenizer panicked".to_owned())?.map_err(|error| error.to_string())?;
        let mut encoded = Encoded { ids: encoding.get_ids().to_vec(), types: encoding.get_type_ids().to_vec() };
        if encoded.ids.is_empty() {
            encoded = Encoded { ids: vec![self.pad], types: vec![0] }; // a tokenizer that puts no marks around a text
        }
        encoded.ids.truncate(self.max_tokens);
        encoded.types.truncate(self.max_tokens);
        Ok(encoded)
    }

    fn start<'a>(&self, text: &'a str) -> &'a str {
        &text[..text.floor_char_boundary(self.max_tokens.saturating_mul(BYTES_A_TOKEN))]
    }
}
