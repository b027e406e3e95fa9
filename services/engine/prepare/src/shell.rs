//! Words of commands that reports and configurations propose, as a shell reads them.

/// A command, or a part of one.
pub fn words<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// One word.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-:".contains(&byte);
    if word.chars().any(char::is_control) {
        escaped(word)
    } else if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The same without its control characters, as bash and zsh read it.
fn escaped(word: &str) -> String {
    let mut text = "$'".to_owned();
    for sign in word.chars() {
        match sign {
            '\\' | '\'' => text.extend(['\\', sign]),
            _ if sign.is_control() => {
                sign.to_string().bytes().for_each(|byte| text += &format!("\\x{byte:02x}"));
            }
            _ => text.push(sign),
        }
    }
    text + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_the_command() {
        assert_eq!(quoted("a/b-1.jsonl.gz"), "a/b-1.jsonl.gz");
        assert_eq!(quoted("it's here"), r"'it'\''s here'");
        assert_eq!(quoted("it's\n\u{1b}[2J\u{9b}m"), r"$'it\'s\x0a\x1b[2J\xc2\x9bm'");
        assert_eq!(words(["--data", "my events"]), "--data 'my events'");
    }
}
