//! What the simulated shop sells, in words.

/// A department of the shop.
pub(crate) struct Category {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it sells.
    pub(crate) nouns: [&'static str; 5],
    /// A middling price.
    pub(crate) price: f64,
    /// How much more it is wanted on Saturdays and Sundays.
    pub(crate) weekend: f64,
}

const fn category(name: &'static str, price: f64, weekend: f64, nouns: [&'static str; 5]) -> Category {
    Category { name, nouns, price, weekend }
}

/// Departments, the most wanted first.
pub(crate) const CATEGORIES: [Category; 12] = [
    category("shoes", 80.0, 0.0, ["sneakers", "boots", "sandals", "loafers", "running shoes"]),
    category("shirts", 35.0, 0.0, ["t-shirt", "blouse", "polo shirt", "sweater", "tank top"]),
    category("jackets", 120.0, 0.1, ["rain jacket", "parka", "coat", "vest", "windbreaker"]),
    category("bags", 60.0, 0.0, ["backpack", "tote bag", "duffel bag", "wallet", "suitcase"]),
    category("audio", 110.0, -0.2, ["headphones", "earbuds", "speaker", "turntable", "microphone"]),
    category("kitchen", 40.0, 0.2, ["kettle", "frying pan", "coffee grinder", "knife set", "mug"]),
    category("camping", 95.0, 0.6, ["tent", "sleeping bag", "camping stove", "lantern", "hammock"]),
    category("toys", 25.0, 0.7, ["puzzle", "board game", "building set", "plush bear", "kite"]),
    category("lamps", 55.0, 0.3, ["desk lamp", "floor lamp", "night light", "string lights", "pendant lamp"]),
    category("garden", 30.0, 0.8, ["planter", "watering can", "pruning shears", "bird feeder", "garden hose"]),
    category("watches", 150.0, -0.1, ["wrist watch", "smart watch", "stopwatch", "pocket watch", "watch strap"]),
    category("office", 28.0, -0.8, ["notebook", "fountain pen", "desk organizer", "stapler", "monitor stand"]),
];

/// Makers.
pub(crate) const BRANDS: [&str; 20] = [
    "alderly",
    "bravo",
    "corvid",
    "dunmore",
    "eastwick",
    "fjordal",
    "gannet",
    "harrow",
    "ironleaf",
    "juniper",
    "kestrel",
    "lumen",
    "marlow",
    "northfold",
    "oakhurst",
    "pinecrest",
    "quillon",
    "rookery",
    "saltmarsh",
    "thistle",
];

/// Colours.
pub(crate) const COLORS: [&str; 8] = ["black", "white", "red", "blue", "green", "grey", "yellow", "brown"];

/// What items are praised for.
pub(crate) const TAGS: [&str; 12] = [
    "bestseller",
    "eco",
    "gift",
    "handmade",
    "kids",
    "lightweight",
    "minimalist",
    "outdoor",
    "premium",
    "recycled",
    "vintage",
    "waterproof",
];

/// Materials, for titles.
pub(crate) const MATERIALS: [&str; 10] =
    ["cotton", "steel", "bamboo", "wool", "leather", "canvas", "ceramic", "oak", "nylon", "aluminium"];

/// Beginnings of descriptions.
pub(crate) const PRAISE: [&str; 6] = [
    "made to last for years",
    "a favourite of our customers",
    "designed for every day",
    "light, simple and easy to care for",
    "back in stock after a long wait",
    "tested by us on long trips",
];

/// Countries, and the hours by which their clocks differ from UTC.
pub(crate) const COUNTRIES: [(&str, i64); 8] =
    [("GB", 0), ("DE", 1), ("FR", 1), ("PL", 1), ("FI", 2), ("US", -5), ("BR", -3), ("JP", 9)];

/// User agents of visitors, the common ones first.
pub(crate) const AGENTS: [&str; 11] = [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
    "Mozilla/5.0 (iPad; CPU OS 16_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 13; SM-X200) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
];

/// The first of these are phones.
pub(crate) const PHONES: usize = 2;

/// The last of these is a crawler, which looks and never clicks.
pub(crate) const CRAWLER: usize = AGENTS.len() - 1;

/// How often each agent is seen.
pub(crate) const AGENT_WEIGHTS: [f64; AGENTS.len()] = [26.0, 24.0, 20.0, 8.0, 5.0, 4.0, 3.0, 4.0, 3.0, 2.0, 1.0];

/// Where visits come from; the shop's own pages lead to the later lists of a visit.
pub(crate) const REFERERS: [&str; 8] = [
    "https://www.google.com/",
    "https://www.bing.com/search?q=shop",
    "https://duckduckgo.com/",
    "https://www.instagram.com/",
    "https://m.facebook.com/",
    "https://mail.google.com/mail/u/0/",
    "https://shop.example/landing?utm_source=google&utm_medium=cpc&gclid=Cj0K",
    "https://notes.example/reviews",
];

/// How often each is seen.
pub(crate) const REFERER_WEIGHTS: [f64; REFERERS.len()] = [40.0, 6.0, 5.0, 10.0, 9.0, 10.0, 14.0, 6.0];

/// The referer within the shop.
pub(crate) const OWN_PAGE: &str = "https://shop.example/";
