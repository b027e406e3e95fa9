//! What each key of a configuration is for: editors show it, and tables of docs/configuration.md, docs/features.md and docs/http.md are
//! made of it.
//!
//! Keys of one type of feature stand with that type. [`document`](super::document) looks up the rest here, by the names on the way to
//! a key and the words under `type`.

/// The keys of a section that go into one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys {
    /// Names on the way to the section, with dots; empty for the whole configuration.
    pub path: &'static str,
    /// The word under its `type`, where the keys are for one type alone.
    pub of_type: Option<&'static str>,
    /// Its keys, in the order of the table.
    pub keys: &'static [Key],
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name; with dots, where it lies in a section of this one.
    pub name: &'static str,
    /// What stands in the place of a key that is left out, in words. Empty where the value that readers fill in says it, or where the key
    /// must be there.
    pub absent: &'static str,
    /// What it is for, in Markdown, from a small letter on and without a dot at its end. The tables leave out a key that is accepted and
    /// has no effect, and a mapping whose keys have rows of their own.
    pub text: &'static str,
}

/// Beginning of the text of a key that does nothing.
pub const NO_EFFECT: &str = "accepted, and has no effect";

pub(crate) const fn key(name: &'static str, absent: &'static str, text: &'static str) -> Key {
    Key { name, absent, text }
}

/// Every key but those of one type of feature, in the order of the pages.
#[rustfmt::skip] // a line for each key
pub const KEYS: &[Keys] = &[
    Keys {
        path: "",
        of_type: None,
        keys: &[
            key("state", "memory", "[where values and models are kept](#state)"),
            key("train", "where the state is", "[where click-throughs are kept](#train)"),
            key("features", "none", "a list of what is computed for items and rankings, see [features.md](features.md)"),
            key("models", "none", "[what ranks and recommends](#models): a map from name to definition"),
            key("inference", "none", "[text models](#inference): a map from name to definition"),
            key("api", "defaults", "[the HTTP interface](#api)"),
            key("source", "none", "[where events are read from](#source): files by `import` and `standalone`, streams also by `serve` and `ingest-worker`. Upstream's name `input` is read as well"),
            key("core", "defaults", "[joins, ingest, tracking](#core)"),
        ],
    },
    Keys {
        path: "api",
        of_type: None,
        keys: &[
            key("host", "", "the address that the server listens at; `0.0.0.0` is all addresses, those of IPv6 too"),
            key("port", "", "the port that the server listens at"),
            key("token", "none", "the bearer token for `/train`, for `/log-level`, and for calls of the page that show ids or stored values or change anything, see [http.md](http.md#who-may-do-what)"),
            key("limits", "defaults", "what a request may take, see [http.md](http.md#limits)"),
            key("timeout", "none", "another name of `limits.requestTimeout`, which counts where both are set"),
            key("tls", "none", "encrypts the port"),
            key("tls.cert", "", "a PEM file with the certificate, which is read again when it changes"),
            key("tls.key", "", "a PEM file with its key, which is read again when it changes"),
            key("cors", "none", "which web pages may use the service"),
            key("cors.allowedOrigins", "none", "origins of web pages that may use the service, see [http.md](http.md#web-pages)"),
            key("page", "defaults", "[the page for browsers](#apipage)"),
        ],
    },
    Keys {
        path: "api.limits",
        of_type: None,
        keys: &[
            key("maxBodyBytes", "", "size of a body (32 MiB), also after decoding. Beyond it: 413. All bodies over 64 KiB that arrive share memory for four bodies of this size, at least 128 MiB. Decoded bodies share as much as four of this size. A body without room waits, then gets 503"),
            key("maxItemsPerRequest", "", "items of a request, also texts and documents. Beyond it: 400; a larger `count` of `/recommend` counts as the limit"),
            key("maxEventsPerBatch", "", "events of a request to `/feedback`. Beyond it: 413"),
            key("maxConcurrentRequests", "", "requests that run at a time. Beyond it: 503 with `Retry-After`, at once. A request whose body still arrives does not count: the same number of bodies may arrive at a time, and 4 times that number of at most 64 KiB each. What has arrived of them is in memory"),
            key("maxConnections", "", "open connections. Beyond it: connections that wait for their clients are closed, see [Connections](http.md#connections)"),
            key("requestTimeout", "", "the time that a body has to arrive (beyond it: 408), and then `/feedback` and text models to finish (beyond it: 503)"),
            key("textTimeout", "", "the time that text models have within a rank request. Beyond it values are [missing](text-models.md#models-of-texts)"),
            key("drainTimeout", "", "the time that running requests have once the process stops. Beyond it the connection is closed"),
        ],
    },
    Keys {
        path: "api.page",
        of_type: None,
        keys: &[
            key("enabled", "`true` in `serve` and `standalone`, `false` in `rank-server`", "switches the page on. Other programs have no page"),
            key("sample", "", "newest rank requests of each model that the server keeps in memory, at most 1,000; 0 keeps none"),
            key("showIds", "", "whether these requests show `user` and `session`"),
            key("item", "none", "names of item fields that the page shows"),
            key("item.title", "none", "the item field that the page shows as the title, such as `title`"),
            key("item.price", "none", "the item field that the page shows as the price"),
            key("item.image", "none", "the item field that holds the address of a picture"),
            key("imageOrigins", "none", "servers that pictures may come from, such as `[\"https://cdn.shop.example\"]`; the browser loads no others"),
        ],
    },
    Keys {
        path: "state",
        of_type: None,
        keys: &[
            key("type", "", "`memory`: everything ends with the process. `file`: a folder. `redis`: a server that processes share"),
        ],
    },
    Keys {
        path: "state",
        of_type: Some("file"),
        keys: &[
            key("path", "", "a folder for values, click-throughs and models"),
            key("format", "", "how values are written: `binary` or `json`. Both are read"),
        ],
    },
    Keys {
        path: "state",
        of_type: Some("redis"),
        keys: &[
            key("host", "required without `nodes`", "a server of version 6.0 or newer (tests use 6.2 and 7.0)"),
            key("port", "required without `nodes`", "its port, usually 6379"),
            key("mode", "", "`standalone`: the server at `host` and `port`. `sentinel`: the server that sentinels name. `cluster`: a Redis Cluster"),
            key("nodes", "the one of `host` and `port`", "`[\"host:port\", ...]`, in place of `host` and `port`: the sentinels, or some nodes of the cluster, which are asked for the others. Not with `standalone`"),
            key("sentinel", "none", "which server the sentinels name; required with `mode: sentinel`"),
            key("sentinel.master", "required with `sentinel`", "what the sentinels call the server"),
            key("sentinel.user", "none", "user of the login at the sentinels; `auth` is the login at the server, and `tls` applies to both"),
            key("sentinel.password", "none", "password of the login at the sentinels"),
            key("auth", "none", "the login at the server"),
            key("auth.user", "none", "the user; `SERVICE_REDIS_USER` takes its place. The user needs the keys `rw:<service>:*`, and of the dangerous commands only `+info` ([security.md](security.md)); for a cluster of version 6 `+cluster`"),
            key("auth.password", "none", "the password; `SERVICE_REDIS_PASSWORD` takes its place"),
            key("tls", "defaults", "encryption of the connections"),
            key("tls.enabled", "", "whether connections are encrypted"),
            key("tls.ca", "the system's", "a PEM file of certificates to trust"),
            key("tls.verify", "", "what is verified of the server's certificate: `full`, `ca` (any host name), `off`"),
            key("timeout", "defaults", "limits of time"),
            key("timeout.connect", "", "limit for connecting"),
            key("timeout.command", "", "limit for an answer. A ranking waits up to this long for each of its two reads, and then keeps the incoming order: with a long limit, visitors wait when Redis is slow. After five rankings in a row got no answer in time, rankings no longer wait, until Redis answers again"),
            key("timeout.socket", "", "limit for a connection without a sign of life"),
            key("db", "the three below", "databases of the server. A cluster has only one, so there `db` has no effect, and a warning says so"),
            key("db.state", "", "database of values and joins"),
            key("db.values", "", "accepted, and has no effect"),
            key("db.rankings", "", "database of click-throughs"),
            key("db.models", "", "database of models"),
            key("format", "", "how values are written: `binary` or `json`. Both are read"),
            key("cache", "defaults", "entities that are kept in the process"),
            key("cache.maxSize", "", "entities kept in the process, for each of ten kinds: 10,240 together; 0 turns the cache off"),
            key("cache.clientTracking", "", "the server reports what changed. A server that cannot do this is used without a cache, and the log says so"),
            key("cache.ttl", "none: no cache without client tracking", "how old a cached entity may be where there is no client tracking"),
            key("pipeline", "defaults", "how events of a stream are gathered"),
            key("pipeline.maxSize", "1024", "number of events at which a batch of a partition ends. 128, upstream's default, counts as not set. One commit takes the batches of several partitions (not in a cluster): about this number of events if you set it, else about 12,288. A request to `/feedback` is one commit, and so is a batch of an import"),
            key("pipeline.flushPeriod", "`10ms`", "how long the first event of a batch waits at most; over 5 seconds counts as 5 seconds. `1s`, upstream's default, counts as not set"),
            key("pipeline.enabled", "", "`false`: each event of a stream is a commit of its own, which is slow"),
        ],
    },
    Keys {
        path: "train",
        of_type: None,
        keys: &[
            key("type", "", "`file`, `s3`, `redis`; `memory`: click-throughs are compressed in memory, and beyond 1 GiB the oldest are dropped; `discard`: they are not kept"),
        ],
    },
    Keys {
        path: "train",
        of_type: Some("file"),
        keys: &[
            key("path", "", "a folder"),
            key("format", "", "how parts are written: `binary` or `json`. Both are read"),
        ],
    },
    Keys {
        path: "train",
        of_type: Some("redis"),
        keys: &[
            key("ttl", "", "how long a part is kept"),
            key("db", "`{rankings: 2}`", "the number of the database that holds click-throughs, or a mapping with `rankings`. Other keys of the mapping have no effect"),
            key("format", "", "how parts are written: `binary` or `json`. Both are read"),
            key("timeout.command", "", "limit for an answer"),
            key("cache", "", "accepted, and has no effect: click-throughs need none"),
            key("pipeline", "", "accepted, and has no effect: click-throughs need none"),
            key("db.state", "", "accepted, and has no effect: click-throughs lie in `rankings`"),
            key("db.values", "", "accepted, and has no effect: click-throughs lie in `rankings`"),
            key("db.models", "", "accepted, and has no effect: click-throughs lie in `rankings`"),
        ],
    },
    Keys {
        path: "train",
        of_type: Some("s3"),
        keys: &[
            key("bucket", "", "the bucket's name; it must exist"),
            key("prefix", "", "a folder in the bucket, which several processes may share"),
            key("region", "", "the bucket's region, such as `us-east-1`"),
            key("endpoint", "Amazon's", "URI of another service. Requests then name the bucket in the path; the service must support `If-None-Match: *`"),
            key("compress", "", "compression of new parts: `none`, `gzip` (or `gz`), `zst` (or `zstd`). It shrinks `json` a lot and `binary` little, because blocks of `binary` are compressed anyway"),
            key("partSizeBytes", "", "a part is written when it has this many bytes before compression, `partSizeEvents` records, or a first record as old as `partInterval`. At most 1 GiB, because a part is built in memory"),
            key("partSizeEvents", "", "a part is written when it has this many records"),
            key("partInterval", "", "a part is written when its first record is this old"),
            key("format", "", "how parts are written: `binary` or `json`. Both are read"),
            key("cloudKey", "none", "access key, where the environment has no `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`. Without either, the profile, the role of the pod or that of the machine is used"),
            key("cloudKeySecret", "required with `cloudKey`", "the secret of `cloudKey`"),
        ],
    },
    Keys {
        path: "source",
        of_type: None,
        keys: &[
            key("type", "", "`file`, `kafka`, `pulsar` or `kinesis`"),
            key("offset", "", "where the first read begins: `earliest`, `latest` (what arrives from now on), `ts=` and a Unix time or ISO 8601, `last=` and a duration before now"),
            key("format", "", "`json`, or enriched events of Snowplow: `snowplow:tsv` (also `snowplow`), `snowplow:json` ([snowplow.md](snowplow.md))"),
            key("deadLetter", "none", "where messages go that are not events"),
            key("deadLetter.path", "none", "a file for messages that are not events: JSON lines with the message, its place and the reason"),
            key("deadLetter.topic", "none", "only for `kafka`: a topic of the same cluster for these messages, unchanged, with place and reason in headers"),
        ],
    },
    Keys {
        path: "source",
        of_type: Some("file"),
        keys: &[
            key("path", "required, or `--data`; `serve` needs neither", "a file, or a folder whose `.json`, `.jsonl` and `.ndjson` files (with `snowplow:tsv`, `.tsv` files) are read, plain or with `.gz`, `.zst`, `.zstd`. Option `--data`"),
            key("offset", "", "the time of the first event that is read: `earliest`, `ts=` and a Unix time or ISO 8601, `last=` and a duration before now; `latest` reads nothing of files. Option `--offset`"),
            key("format", "", "`json`, or enriched events of Snowplow: `snowplow:tsv` (also `snowplow`), `snowplow:json` ([snowplow.md](snowplow.md)). Option `--format`"),
            key("sort", "", "the order of a folder's files: `name`, `time` (of their first event), `last-modified`. Option `--sort-files-by`"),
        ],
    },
    Keys {
        path: "source",
        of_type: Some("kafka"),
        keys: &[
            key("brokers", "", "`[\"host:9092\", ...]`"),
            key("topic", "", "the topic that events are read from"),
            key("groupId", "", "the consumer group. Its offsets follow what is committed, for the broker's tools. A reader begins at the position that lies with the state"),
            key("options", "none", "settings of librdkafka, such as `security.protocol`, `sasl.mechanism`, `sasl.username`, `sasl.password`, `ssl.ca.location`, `session.timeout.ms`, or of the Java client, which are [translated](compatibility.md#options-of-kafka-and-pulsar). One that neither knows is refused with its name; those that positions and rebalancing rest on are fixed, with a warning"),
        ],
    },
    Keys {
        path: "source",
        of_type: Some("pulsar"),
        keys: &[
            key("serviceUrl", "", "`pulsar://host:6650` or `pulsar+ssl://host:6651`; several hosts are separated by commas"),
            key("adminUrl", "", "`http://host:8080`; not used: `serviceUrl` is enough"),
            key("topic", "", "`events`, `tenant/namespace/events` or `persistent://tenant/namespace/events`; plain or partitioned. Readers never create it. `non-persistent` topics are refused"),
            key("subscriptionName", "", "the subscription. Readers create it if it is missing, and acknowledge what is committed, so that the broker's tools show the backlog"),
            key("subscriptionType", "", "`exclusive`, `failover` or `shared`"),
            key("options", "none", "names of the Java client. `authParams`: `token:<token>` or `file:///<path>`, which is read again for each connection. `authPluginClassName`: only tokens. Also `tlsTrustCertsFilePath` (PEM, in place of the system's certificates), `tlsAllowInsecureConnection`, `consumerName`, `priorityLevel`, and `receiverQueueSize` (messages fetched ahead of a partition, 1000). Others of the Java client are [ignored with a warning](compatibility.md#options-of-kafka-and-pulsar); unknown ones are refused"),
        ],
    },
    Keys {
        path: "source",
        of_type: Some("kinesis"),
        keys: &[
            key("region", "", "the stream's region, such as `us-east-1`"),
            key("topic", "", "the name of the stream"),
            key("endpoint", "Amazon's", "URI of another service"),
        ],
    },
    Keys {
        path: "models",
        of_type: None,
        keys: &[
            key("type", "", "`lambdamart`, `als`, `trending` or `semantic`; `shuffle`: chance; `noop`: the incoming order"),
            key("version", "none: the current version is served", "the id of the version that is served instead of the current one"),
            key("keepVersions", "", "how many of the newest versions are kept. The current one, the one before it and `version` are always kept"),
            key("excludeSeen", "`false`", "of `als`, `trending`, `semantic`: `true`, or a list of types of interaction, leaves out items with which the visitor had such an interaction, see [recommendations.md](recommendations.md#leave-out-what-a-visitor-took)"),
            key("store", "none", "accepted, and has no effect: upstream's index of neighbours, of `als` and `semantic`"),
            key("selector", "all", "which click-throughs the model learns from (`semantic`: is measured by). Give one of the kinds below; `and` and `or` combine several"),
            key("selector.accept", "none", "`true`: all; `false`: none"),
            key("selector.rankingField", "required with `value`", "click-throughs whose ranking has `value` in this field"),
            key("selector.value", "required with `rankingField`", "a text, or a list of which one has to match"),
            key("selector.ratio", "none", "a sample of this share, by the ids of rankings, and with `lambdamart` also by `backend.seed`"),
            key("selector.minInteractionPosition", "none", "click-throughs with interactions, all at this position or a later one, from 0"),
            key("selector.maxInteractionPosition", "none", "click-throughs with interactions, all at this position or an earlier one, from 0"),
            key("selector.minItems", "none", "click-throughs with at least this number of items"),
            key("selector.maxItems", "none", "click-throughs with at most this number of items"),
            key("selector.and", "none", "click-throughs that all of these selectors accept"),
            key("selector.or", "none", "click-throughs that one of these selectors accepts"),
            key("selector.not", "none", "click-throughs that this selector does not accept"),
            key("qualityGate", "defaults", "what a new version must reach before `training-job` makes it current"),
            key("qualityGate.margin", "", "how much worse than the running version a new version may be; `training-job` does not publish a worse one"),
            key("qualityGate.metric", "the first of `eval`", "of `lambdamart`: the metric of `eval` by which `training-job` compares a new version. Recommenders are compared by `HIT@10`"),
            key("qualityGate.weighted", "`false`", "of `lambdamart`: `true` compares the metric with clicks weighted by the examination of their positions ([evaluation.md](evaluation.md#weighted-figures))"),
            key("qualityGate.arm", "none", "with `weighted`: a ranking field that tells rankers apart, or `FIELD=VALUE` of lists in random order"),
            key("qualityGate.context", "none", "with `weighted`: a ranking field, such as the query. Positions of an item are compared only within one value of it"),
        ],
    },
    Keys {
        path: "models",
        of_type: Some("lambdamart"),
        keys: &[
            key("features", "", "names of features"),
            key("weights", "none", "relevance of each type of interaction (below 0 counts as 0). An item's label is the largest weight of its interactions. Without weights, labels come from `items[].label` of rankings. The gain of NDCG (2^label - 1) does not grow beyond a label of 100"),
            key("backend", "XGBoost", "the library that trains. `backend: lightgbm` is short for its type"),
            key("backend.type", "", "`xgboost` or `lightgbm`"),
            key("backend.iterations", "", "trees at most. Training stops after 20 without progress, and keeps those up to the best"),
            key("backend.learningRate", "", "weight of each tree; any number over 0"),
            key("backend.ndcgCutoff", "", "k of the NDCG@k that measures each round: training stops by it, and keeps the trees up to the best round"),
            key("backend.maxDepth", "", "depth of a tree, up to 64; 0 is no limit, as is -1 with LightGBM"),
            key("backend.numLeaves", "", "leaves of a tree, for LightGBM"),
            key("backend.sampling", "", "share of features that a tree may use"),
            key("backend.debias", "", "the booster's own removal of position bias"),
            key("backend.overMemory", "", "whether to train although it takes more memory than the machine or container has ([training.md](training.md#memory))"),
            key("backend.seed", "random", "a number or text that makes training reproducible"),
            key("split", "", "which rankings train and which test. `time=80%`: the oldest 80 % train. `random=80%`: 80 % by chance. `hold_last=80%`: the oldest 80 % of each visitor's rankings. Without `=N%` each is 80 %. `field=NAME:TRAIN:TEST`: rankings whose field has the value TRAIN train, those with TEST test. Rankings with neither are left out, and counted in the log"),
            key("eval", "", "a list of metrics: `NDCG`, `NDCG@k`, `MAP`, `MAP@k`, `MRR`"),
            key("warmup", "none, on Kubernetes [`rank.warmup`](kubernetes-reference.md)", "a new version replays stored rankings before it serves"),
            key("warmup.sampledRequests", "", "how many rankings are stored with a version, which replays them; 0 stores none"),
            key("warmup.duration", "", "how long the replay takes at most. One ranking is always replayed"),
        ],
    },
    Keys {
        path: "models",
        of_type: Some("shuffle"),
        keys: &[
            key("maxPositionChange", "", "how far an item may drift from its position"),
        ],
    },
    Keys {
        path: "models",
        of_type: Some("als"),
        keys: &[
            key("interactions", "", "types of interaction"),
            key("factors", "", "numbers in the vector of an item"),
            key("iterations", "", "rounds of the training"),
            key("userReg", "", "how strongly vectors of visitors are kept small, 0 or more"),
            key("itemReg", "", "how strongly vectors of items are kept small, 0 or more"),
            key("seed", "", "a number or text"),
            key("overMemory", "", "as `backend.overMemory` of `lambdamart`"),
        ],
    },
    Keys {
        path: "models",
        of_type: Some("trending"),
        keys: &[
            key("weights", "", "a list of types of interaction, each with its weight, decay and window"),
            key("weights.interaction", "", "a type of interaction"),
            key("weights.weight", "", "what one such interaction counts"),
            key("weights.decay", "", "a factor for each day, over 0 and at most 1"),
            key("weights.window", "", "how long an interaction counts"),
        ],
    },
    Keys {
        path: "models",
        of_type: Some("semantic"),
        keys: &[
            key("encoder", "", "what gives items their embeddings"),
            key("encoder.type", "", "`bert` (a text model; also `transformer`, `bi-encoder`) or `csv` (a file)"),
            key("encoder.dim", "", "numbers in an embedding"),
            key("encoder.model", "", "with `bert`: a handle, see [encoders.md](encoders.md)"),
            key("encoder.modelFile", "`model.onnx`, else `onnx/model.onnx`", "with `bert`: the graph's file in the model's folder"),
            key("encoder.tokenizerFile", "`tokenizer.json`", "with `bert`: the tokenizer's file"),
            key("encoder.path", "", "with `csv`: a file of embeddings by item id"),
            key("itemFields", "required with `bert`", "item fields, `title` or `item.title`"),
            key("ttl", "", "how long a text counts"),
        ],
    },
    Keys {
        path: "inference",
        of_type: None,
        keys: &[
            key("type", "", "`bi-encoder` (texts become embeddings; also `bert`, `transformer`) or `cross-encoder` (pairs of query and text become scores)"),
            key("model", "", "`<namespace>/<model>`, `file:///<folder>` or `s3://<bucket>/<prefix>/`"),
            key("dim", "none", "numbers in an embedding of a `bi-encoder`; a model with another number is refused at start"),
            key("modelFile", "`model.onnx`, else `onnx/model.onnx`", "the graph's file in the model's folder"),
            key("tokenizerFile", "`tokenizer.json`", "the tokenizer's file in the model's folder"),
        ],
    },
    Keys {
        path: "core",
        of_type: None,
        keys: &[
            key("clickthrough", "defaults", "how rankings are joined with what follows"),
            key("clickthrough.maxSessionLength", "", "how long a ranking without new interactions stays open for them"),
            key("clickthrough.maxParallelSessions", "", "open rankings in memory, about 120 bytes for each item of a list with ten features. With a state in memory the oldest gives way, and with a stream also the oldest interaction that waits for its ranking. A state in a folder keeps more: those beyond this number are read back when something happens to them"),
            key("clickthrough.maxOpenBytes", "", "about how much memory open rankings may take (256 MiB), whatever their number. The oldest gives way, as with `maxParallelSessions`. With a state in a folder, those that are only there take about 400 bytes each, and together no more than this again. `/status` reports what they and waiting interactions take, as `ingest.openRankingBytes`: null for a state in Redis, and for one in a folder with a stream, which have them outside memory"),
            key("clickthrough.rankingWait", "", "how long an interaction waits for its ranking, in event time"),
            key("ingest", "defaults", "how events are taken in"),
            key("ingest.eventIdWindow", "", "how long ids of fed-back events are remembered, and those of the last events of an import ([delivery.md](delivery.md#from-an-import-to-live-events))"),
            key("ingest.maxAhead", "", "events further ahead of the clock are refused; nearer ones count, and move event time no further than the clock"),
            key("import", "none", "accepted, and has no effect: upstream's settings of imports"),
            key("tracking", "defaults", "what upstream reports to its makers; nothing is sent anywhere"),
            key("tracking.analytics", "", "`false` switches off `--print-analytics` of `import`, `train`, `serve` and `standalone`, which prints what could be counted about their use. Nothing is sent anywhere"),
            key("tracking.errors", "", "accepted, and has no effect: nothing is sent anywhere"),
        ],
    },
    Keys {
        path: "features",
        of_type: None,
        keys: &[
            key("name", "", "a unique name; columns and explanations carry it"),
            key("type", "", "what is computed"),
            key("ttl", "", "a stored value that did not change for this time, counted in event time, is missing"),
            key("refresh", "", "accepted, and has no effect: values are always fresh"),
            key("field", "", "the field that is read, of types that read one: `item.x`, `user.x` or `ranking.x`; `source` is another name"),
            key("scope", "", "accepted, and has no effect: the type leaves no choice"),
        ],
    },
];
