//! What happens after the import of a sample's events, to visitors and items of a made-up shop.

use serde_json::{Value, json};

/// When it begins, in milliseconds: after everything that was imported.
pub(crate) struct Story {
    pub(crate) begin: i64,
}

impl Story {
    /// Closed before the sample is taken, but not in its store where that waits for more: a ranking with a click and a
    /// purchase, a click that no ranking caused.
    pub(crate) fn closed(&self) -> Vec<Value> {
        vec![
            self.ranking("k1", 60, "u0", &["p0", "p1", "p2", "p3", "p4", "p5"]),
            self.interaction("c1", 70, "click", Some("k1"), "u0", "p1"),
            self.interaction("c2", 80, "purchase", Some("k1"), "u0", "p1"),
            self.interaction("c3", 90, "click", None, "u1", "p2"),
            self.passed("t1", 7200),
        ]
    }

    /// Open when the sample is taken: a ranking with a click and one without, a click whose ranking did not come, and one
    /// that no ranking caused.
    pub(crate) fn open(&self) -> Vec<Value> {
        vec![
            self.ranking("k2", 7260, "u0", &["p3", "p4", "p5", "p6", "p7", "p8"]),
            self.interaction("c4", 7270, "click", Some("k2"), "u0", "p4"),
            self.ranking("k3", 7280, "u2", &["p1", "p3", "p5", "p7"]),
            self.interaction("c5", 7290, "click", Some("k4"), "u3", "p0"),
            self.interaction("c6", 7300, "click", None, "u1", "p6"),
        ]
    }

    /// What comes then: to what was open, and new.
    pub(crate) fn next(&self) -> Vec<Value> {
        let price = json!([{"name": "price", "value": 9.5}]);
        vec![
            self.interaction("c7", 7310, "purchase", Some("k2"), "u0", "p4"),
            self.interaction("c8", 7320, "click", Some("k3"), "u2", "p5"),
            self.ranking("k4", 7285, "u3", &["p2", "p0", "p1"]),
            self.ranking("k5", 7330, "u0", &["p1", "p2", "p3"]),
            self.interaction("c9", 7340, "click", Some("k5"), "u0", "p2"),
            json!({"event": "item", "id": "i1", "timestamp": self.at(7350), "item": "p3", "fields": price}),
            self.passed("t2", 18_000),
        ]
    }

    /// Requests, each with its path.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let request = self.ranking("asked", 20_000, "u0", &["p0", "p1", "p2", "p3", "p4", "p5"]);
        let paths = ["/rank/lightgbm?explain=true", "/rank/xgboost", "/rank/shuffled"];
        let mut asked = paths.map(|path| json!({"path": path, "request": request})).to_vec();
        asked.push(json!({"path": "/recommend/popular", "request": {"count": 3, "user": "u0"}}));
        asked
    }

    fn at(&self, seconds: i64) -> String {
        (self.begin + seconds * 1000).to_string()
    }

    fn ranking(&self, id: &str, seconds: i64, user: &str, items: &[&str]) -> Value {
        let item = |(place, id): (usize, &&str)| json!({"id": id, "fields": [{"name": "relevancy", "value": 2.5 - 0.25 * place as f64}]});
        let items: Vec<Value> = items.iter().enumerate().map(item).collect();
        let agent = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36";
        let fields = [
            ("query", "red shoes"),
            ("category", "shoes"),
            ("ua", agent),
            ("referer", "https://shop.example/?utm_source=google&utm_medium=cpc"),
            ("local_time", "2025-03-08T09:30:00+01:00"),
        ];
        let fields = fields.map(|(name, value)| json!({"name": name, "value": value}));
        json!({"event": "ranking", "id": id, "timestamp": self.at(seconds), "user": user, "session": format!("late-{user}"),
            "items": items, "fields": fields})
    }

    fn interaction(&self, id: &str, seconds: i64, kind: &str, ranking: Option<&str>, user: &str, item: &str) -> Value {
        let mut event = json!({"event": "interaction", "id": id, "timestamp": self.at(seconds), "type": kind, "user": user,
            "session": format!("late-{user}"), "item": item});
        if let Some(ranking) = ranking {
            event["ranking"] = json!(ranking);
        }
        event
    }

    /// An event that shows how late it is, and does nothing else.
    fn passed(&self, id: &str, seconds: i64) -> Value {
        json!({"event": "user", "id": id, "timestamp": self.at(seconds), "user": "nobody", "fields": []})
    }
}
