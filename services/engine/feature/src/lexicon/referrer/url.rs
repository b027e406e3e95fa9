//! The parts of an address that matter here.

/// An address taken apart, nothing decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Url<'a> {
    scheme: &'a str,
    host: &'a str,
    /// From the first `/` on, or empty.
    pub(crate) path: &'a str,
    /// After the `?`, or empty.
    pub(crate) query: &'a str,
}

/// Longest host name that the domain name system allows.
pub(crate) const MAX_HOST: usize = 253;

impl<'a> Url<'a> {
    /// An absolute address of a page or of an Android application; `None` for anything else.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once("://")?;
        let rest = rest.split('#').next().unwrap_or_default();
        let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = before.split_at(before.find('/').unwrap_or(before.len()));
        let url = Self { scheme, host: host(authority), path, query };
        let known = ["https", "http", "android-app"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
        (known && !url.host.is_empty()).then_some(url)
    }

    /// Whether an Android application sent the visitor; its package then stands for the host.
    pub(crate) fn is_application(&self) -> bool {
        self.scheme.eq_ignore_ascii_case("android-app")
    }

    /// The host in lower case, written to `buffer`; `None` if it is longer than any host, or not in ASCII.
    pub(crate) fn lower_host<'b>(&self, buffer: &'b mut [u8; MAX_HOST]) -> Option<&'b str> {
        let lower = buffer.get_mut(..self.host.len()).filter(|_| self.host.is_ascii())?;
        lower.copy_from_slice(self.host.as_bytes());
        lower.make_ascii_lowercase();
        std::str::from_utf8(lower).ok()
    }
}

/// The host of `user:password@host:port`, without the dot that may end it.
fn host(authority: &str) -> &str {
    let host = authority.rsplit('@').next().unwrap_or_default();
    let end = match host.find(']') {
        Some(bracket) => bracket + 1, // an address of IPv6 has colons of its own
        None => host.find(':').unwrap_or(host.len()),
    };
    host[..end].trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host_of(text: &str) -> Option<String> {
        let mut buffer = [0; MAX_HOST];
        Url::parse(text).and_then(|url| url.lower_host(&mut buffer).map(String::from))
    }

    #[test]
    fn the_host_stands_between_user_and_port() {
        for (text, host) in [
            ("https://www.example.com", "www.example.com"),
            ("HTTP://User:Secret@WWW.Example.COM.:8080/path?a=b#c", "www.example.com"),
            ("https://example.com?q=x", "example.com"),
            ("http://[::1]:8080/", "[::1]"),
            (" https://example.com#top ", "example.com"),
            ("android-app://com.google.android.gm/", "com.google.android.gm"),
            ("https://a@evil.com@example.com/", "example.com"),
        ] {
            assert_eq!(host_of(text).as_deref(), Some(host), "{text}");
        }
    }

    #[test]
    fn the_path_and_the_query_stand_behind() {
        let url = Url::parse("https://example.com/a/b?c=/d?e#f");
        assert_eq!(url.map(|url| (url.path, url.query)), Some(("/a/b", "c=/d?e")));
    }

    #[test]
    fn what_names_no_page_is_no_address() {
        for text in
            ["", "example.com", "/path", "https://", "https:///path", "ftp://example.com", "javascript:0", "://"]
        {
            assert_eq!(Url::parse(text), None, "{text}");
        }
        assert_eq!(host_of(&format!("https://{}.com", "a".repeat(250))), None);
        assert_eq!(host_of("https://bücher.example"), None);
    }
}
