//! Asking sentinels which server takes writes.

use crate::{Address, Problem, Sentinels, Settings};
use redis::{AsyncConnectionConfig, Cmd, FromRedisValue, RedisError, RedisResult, Value};

/// The answer of a sentinel: host and port, or nothing where it does not know the master.
type Named = Option<(String, u16)>;

/// Where the server is, in the words of the first sentinel that answers.
pub(crate) async fn master(settings: &Settings, sentinels: &Sentinels) -> Result<Address, Problem> {
    let mut silent = Silence::default();
    for sentinel in &sentinels.nodes {
        match ask(settings, sentinels, sentinel).await {
            Ok(named) => match silent.heard(named) {
                Some(address) => return Ok(address),
                None => continue,
            },
            Err(error) => silent.failed(settings, sentinel, &error),
        }
    }
    Err(silent.problem(sentinels))
}

/// The same for threads that may wait.
pub(crate) fn master_blocking(settings: &Settings, sentinels: &Sentinels) -> Result<Address, Problem> {
    let mut silent = Silence::default();
    for sentinel in &sentinels.nodes {
        let named = || -> RedisResult<Named> {
            let client = settings.sentinel(sentinels, sentinel)?;
            let mut connection = client.get_connection_with_timeout(settings.connect)?;
            connection.set_read_timeout(Some(settings.command))?;
            question(sentinels).query(&mut connection)
        };
        match named() {
            Ok(named) => match silent.heard(named) {
                Some(address) => return Ok(address),
                None => continue,
            },
            Err(error) => silent.failed(settings, sentinel, &error),
        }
    }
    Err(silent.problem(sentinels))
}

/// The first word of the answer to `ROLE`.
pub(crate) fn role(answer: &[Value]) -> Option<String> {
    String::from_redis_value(answer.first()?.clone()).ok()
}

/// The same by `INFO replication`, for users who may not ask for the other: it needs a right that is dangerous.
pub(crate) fn role_of_info(answer: &str) -> Option<String> {
    answer.lines().find_map(|line| line.strip_prefix("role:")).map(|role| role.trim().to_owned())
}

/// Sentinels go on naming a server for a while that has lost its role.
pub(crate) fn refusal(address: &Address, role: Option<String>) -> Option<Problem> {
    let role = role.filter(|role| role != "master")?; // it may refuse to tell
    Some(Problem::Refuses(format!("{address}, which the sentinels name, is a {role}")))
}

fn question(sentinels: &Sentinels) -> Cmd {
    let mut question = redis::cmd("SENTINEL");
    question.arg("get-master-addr-by-name").arg(&sentinels.master);
    question
}

async fn ask(settings: &Settings, sentinels: &Sentinels, sentinel: &Address) -> RedisResult<Named> {
    let client = settings.sentinel(sentinels, sentinel)?;
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(settings.connect))
        .set_response_timeout(Some(settings.command));
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    question(sentinels).query_async(&mut connection).await
}

/// Why no sentinel has named the server so far.
#[derive(Default)]
struct Silence {
    unknown: bool,
    reason: Option<Problem>,
}

impl Silence {
    fn heard(&mut self, named: Named) -> Option<Address> {
        self.unknown |= named.is_none();
        named.map(|(host, port)| Address::new(host, port))
    }

    fn failed(&mut self, settings: &Settings, sentinel: &Address, error: &RedisError) {
        self.reason = Some(match Problem::of(error, settings) {
            Problem::Login(text) => Problem::Other(format!(
                "the sentinel at {sentinel} refuses user or password: set sentinel.user and sentinel.password ({text})"
            )),
            Problem::Unreachable(text) => Problem::Unreachable(format!("the sentinel at {sentinel}: {text}")),
            other => other,
        });
    }

    fn problem(self, sentinels: &Sentinels) -> Problem {
        let master = &sentinels.master;
        let unknown = || Problem::Other(format!("the sentinels know no master {master:?}: check sentinel.master"));
        match self {
            Self { unknown: false, reason: Some(reason) } => reason,
            _ => unknown(),
        }
    }
}
