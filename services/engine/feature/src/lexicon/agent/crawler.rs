//! Crawlers, by the words that they use of themselves.

use std::cell::Cell;

/// Agents are cut here, under the length from which `iscrawl` looks no further.
const MAX_LENGTH: usize = 480;

/// Whether the words of an agent are those of a crawler. One that names no browser engine is taken for a machine as
/// well, unless it is an `application` on a phone: a shop's own often sends no more than its name and version.
pub(crate) fn crawls(agent: &str, application: bool) -> bool {
    is_crawler(agent, "") && (!application || is_crawler(agent, " webkit"))
}

/// Asks `iscrawl` about `agent` and `rest` together.
///
/// The crate remembers answers by address, length and the first and last eight bytes of a text, so two texts that one
/// buffer held after each other could share an answer. A number in front makes each question a new one.
fn is_crawler(agent: &str, rest: &str) -> bool {
    thread_local! {
        static ASKED: Cell<u32> = const { Cell::new(0) };
    }
    let number = ASKED.get();
    ASKED.set((number + 1) % 100_000_000);
    iscrawl::is_crawler(&format!("{number:08} {}{rest}", &agent[..agent.floor_char_boundary(MAX_LENGTH)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_follow_each_other_in_one_buffer_are_told_apart() {
        let mut buffer = String::from("Mozilla/5.0 (Linux; Android 9) AppleWebKit/537.36 webpages Safari/537.36");
        assert!(!crawls(&buffer, true));
        let at = buffer.find("webpages").expect("it is there");
        buffer.replace_range(at..at + 8, "wget-bot");
        assert!(crawls(&buffer, true));
    }

    #[test]
    fn an_application_without_a_browser_engine_is_none_unless_it_says_so() {
        assert!(!crawls("MyShop/3.2 (iPhone; iOS 15.1; Scale/3.00)", true));
        assert!(crawls("MyShop/3.2", false));
        assert!(crawls("ShopSpider/3.2 (iPhone; iOS 15.1; Scale/3.00)", true));
    }

    #[test]
    fn a_long_text_is_judged_by_its_beginning() {
        assert!(crawls(&format!("Googlebot/2.1 {}", "Gecko ".repeat(200)), false));
    }
}
