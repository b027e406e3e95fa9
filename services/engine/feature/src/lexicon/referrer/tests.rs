use super::*;
use proptest::prelude::*;

const NONE: &[&str] = &[];

fn all(expected: Medium, referers: &[&str]) {
    for referer in referers {
        assert_eq!(medium(referer, NONE), expected, "{referer}");
    }
}

#[test]
fn search_engines_of_all_countries_are_search() {
    all(
        Medium::Search,
        &[
            "https://www.google.com/search?q=shoes",
            "https://www.google.co.uk/",
            "https://google.de",
            "https://www.google.com.br/url?sa=t",
            "http://www.bing.com/search?q=x",
            "https://duckduckgo.com/?q=x",
            "https://search.yahoo.co.jp/search",
            "https://yandex.ru/search/?text=x",
            "https://ya.ru/",
            "https://m.baidu.com/s?wd=x",
            "https://www.ecosia.org/",
            "https://search.naver.com/",
            "https://search.seznam.cz/",
            "https://www.qwant.com/",
            "https://www.startpage.com/do/search",
            "https://search.brave.com/",
            "https://chatgpt.com/",
            "android-app://com.google.android.googlequicksearchbox/",
            "HTTPS://WWW.GOOGLE.COM:443/",
        ],
    );
}

#[test]
fn social_networks_are_social() {
    all(
        Medium::Social,
        &[
            "https://m.facebook.com/",
            "https://l.facebook.com/l.php?u=x&fbclid=IwAR0",
            "https://twitter.com/home",
            "https://t.co/abc",
            "https://x.com/",
            "https://www.instagram.com/",
            "https://www.linkedin.com/feed",
            "https://www.pinterest.co.uk/pin/1",
            "https://out.reddit.com/",
            "https://www.youtube.com/watch?v=1",
            "https://vk.com/",
            "https://weibo.com/",
            "https://tieba.baidu.com/p/1",
            "https://news.ycombinator.com/",
            "android-app://com.twitter.android",
        ],
    );
}

#[test]
fn mail_services_are_email_though_they_lie_below_search_engines() {
    all(
        Medium::Email,
        &[
            "https://mail.google.com/mail/u/0",
            "https://mail.yahoo.com/",
            "https://us-mg5.mail.yahoo.com/neo",
            "https://outlook.live.com/owa",
            "https://outlook.office365.com/",
            "https://e.mail.ru/inbox",
            "https://mail.yandex.ru/",
            "https://navigator.gmx.net/mail",
            "https://mail.proton.me/u/0",
            "https://shop.us1.list-manage.com/track/click",
            "android-app://com.google.android.gm/",
        ],
    );
}

#[test]
fn advertisements_are_paid_by_host_click_id_or_campaign() {
    all(
        Medium::Paid,
        &[
            "https://www.googleadservices.com/pagead/aclk",
            "https://googleads.g.doubleclick.net/",
            "https://www.google.com/aclk?sa=l",
            "https://www.google.com/?gclid=Cj0K",
            "https://shop.example/landing?utm_source=x&utm_medium=cpc",
            "https://shop.example/?utm_medium=Paid_Social&utm_source=facebook",
            "https://shop.example/?utm_medium=paid%20search",
            "https://shop.example/?MSCLKID=1#top",
            "https://an.yandex.ru/count/1",
        ],
    );
}

#[test]
fn everything_else_is_unknown() {
    all(
        Medium::Unknown,
        &[
            "",
            "-",
            "null",
            "google.com",
            "https://",
            "https://some.unknown-site.example/path",
            "https://notgoogle.com/",
            "https://google.com.evil.example/",
            "https://example.com/?next=https://www.google.com/",
            "https://shop.example/?gclid=&utm_medium=organic",
            "https://shop.example/?utm_medium=cpanel",
            "https://shop.example/#gclid=1",
            "https://accounts.google.com/signin",
            "android-app://com.example",
            "file:///home/me/page.html",
        ],
    );
}

#[test]
fn own_hosts_and_this_machine_are_internal() {
    let own = ["shop.example", "Google.de"];
    for referer in [
        "https://shop.example/cart",
        "https://www.SHOP.example:8443/",
        "https://www.google.de/", // ours goes before the list
        "http://localhost:8080/",
        "http://127.0.0.1/",
        "http://[::1]:3000/",
    ] {
        assert_eq!(medium(referer, &own), Medium::Internal, "{referer}");
    }
    assert_eq!(medium("https://workshop.example/", &own), Medium::Unknown);
    assert_eq!(medium("https://shop.example/?gclid=1", &own), Medium::Paid);
    assert_eq!(medium("https://shop.example/", &["", "."]), Medium::Unknown);
}

#[test]
fn columns_follow_the_order_of_the_names() {
    assert_eq!(Medium::NAMES[Medium::Internal.index()], "internal");
    assert_eq!((Medium::Unknown.index(), Medium::Paid.index()), (0, 5));
}

proptest! {
    #[test]
    fn any_text_has_a_medium(text in "\\PC*", own in "\\PC{0,10}") {
        let _ = medium(&text, &[own]);
    }

    #[test]
    fn any_address_has_a_medium(
        host in "[a-zé.:@\\[\\]-]{0,300}", path in "[/?#&=a-z%é]{0,40}", scheme in "(https?|android-app|x)"
    ) {
        let _ = medium(&format!("{scheme}://{host}{path}"), &[host]);
    }

    #[test]
    fn a_host_below_a_search_engine_is_search(label in "[a-z]{1,3}[0-9]{1,20}") {
        prop_assert_eq!(medium(&format!("https://{label}.bing.com/"), NONE), Medium::Search);
    }
}
