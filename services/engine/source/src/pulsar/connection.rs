//! A connection to a broker: requests and their answers, and what the broker sends by itself.

use super::error::Error;
use super::options::Options;
use super::service::Address;
use super::tls;
use crate::BoxFuture;
use futures_util::{SinkExt, StreamExt};
use pulsar::error::ConnectionError;
use pulsar::message::proto::base_command::Type;
use pulsar::message::proto::{AuthData, BaseCommand, CommandAuthResponse, CommandConnect, CommandPong, ServerError};
use pulsar::message::{Codec, Message};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::codec::Framed;

/// A broker that takes longer to answer is taken for dead.
const PATIENCE: Duration = Duration::from_secs(10);
/// A broker shows itself twice in this time; one that does not is taken for dead.
const SILENCE: Duration = Duration::from_secs(70);
/// The newest version of the protocol that we need: news of who is the active consumer, renewed credentials.
const PROTOCOL: i32 = 15;

/// What went wrong with a connection.
#[derive(Debug)]
pub(super) enum Fault {
    /// The broker is away, or went away.
    Away(String),
    /// No encrypted connection came about.
    Tls(String),
    /// The broker answered that it will not.
    Refused(ServerError, String),
    /// It is ours to correct.
    Setting(Error),
}

/// A stream of bytes, encrypted or not.
trait Line: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Line for T {}

pub(super) struct Connection {
    framed: Framed<Box<dyn Line>, Codec>,
    options: Options,
    requests: u64,
    /// What came while an answer was waited for.
    aside: VecDeque<Box<Message>>,
    heard: Instant,
}

impl Connection {
    /// Whether something has come that was not taken yet.
    pub(super) fn has_sent(&self) -> bool {
        !self.aside.is_empty()
    }

    /// Connects and sends the credentials; through a proxy to the broker that `behind` names.
    pub(super) async fn open(address: &Address, behind: Option<String>, options: &Options) -> Result<Self, Fault> {
        timeout(PATIENCE, Self::establish(address, behind, options)).await.unwrap_or_else(|_| Err(silent()))
    }

    async fn establish(address: &Address, behind: Option<String>, options: &Options) -> Result<Self, Fault> {
        let stream = TcpStream::connect((address.host.as_str(), address.port)).await.map_err(away)?;
        stream.set_nodelay(true).map_err(away)?;
        let stream: Box<dyn Line> = match address.tls {
            true => Box::new(tls::encrypt(stream, &address.host, options).await.map_err(Fault::Tls)?),
            false => Box::new(stream),
        };
        let (aside, heard) = (VecDeque::new(), Instant::now());
        let framed = Framed::new(stream, Codec);
        let mut connection = Self { framed, options: options.clone(), requests: 0, aside, heard };
        connection.introduce(behind).await?;
        Ok(connection)
    }

    async fn introduce(&mut self, behind: Option<String>) -> Result<(), Fault> {
        let credentials = self.credentials()?;
        let connect = CommandConnect {
            client_version: concat!("rankwright-", env!("CARGO_PKG_VERSION")).to_owned(),
            auth_method_name: credentials.as_ref().and_then(|credentials| credentials.auth_method_name.clone()),
            auth_data: credentials.and_then(|credentials| credentials.auth_data),
            protocol_version: Some(PROTOCOL),
            proxy_to_broker_url: behind,
            ..CommandConnect::default()
        };
        self.send(BaseCommand { r#type: Type::Connect.into(), connect: Some(connect), ..BaseCommand::default() })
            .await?;
        let answer = self.read().await?;
        match &answer.command.error {
            Some(error) => Err(refused(error.error, Some(error.message.clone()))),
            None if answer.command.connected.is_some() => Ok(()),
            None => Err(Fault::Away("what answers is no broker".to_owned())),
        }
    }

    fn credentials(&self) -> Result<Option<AuthData>, Fault> {
        let Some(token) = &self.options.token else { return Ok(None) };
        let text = token.text().map_err(Fault::Setting)?;
        Ok(Some(AuthData { auth_method_name: Some("token".to_owned()), auth_data: Some(text.into_bytes()) }))
    }

    /// Sends a command that is not answered.
    pub(super) fn send(&mut self, command: BaseCommand) -> BoxFuture<'_, Result<(), Fault>> {
        let message = Message { command, payload: None };
        Box::pin(async move { self.framed.send(message).await.map_err(away) })
    }

    /// Sends a command with the number of a request, and waits for what `answer` finds in the broker's reply to it.
    pub(super) async fn ask<T>(
        &mut self,
        command: impl FnOnce(u64) -> BaseCommand,
        answer: impl Fn(BaseCommand) -> Option<(u64, T)>,
    ) -> Result<T, Fault> {
        self.requests += 1;
        let number = self.requests;
        let answered = async {
            self.send(command(number)).await?;
            loop {
                let message = self.read().await?;
                if let Some(error) = message.command.error.as_ref().filter(|error| error.request_id == number) {
                    return Err(refused(error.error, Some(error.message.clone())));
                }
                if message.payload.is_none()
                    && let Some((_, found)) = answer(message.command.clone()).filter(|(to, _)| *to == number)
                {
                    return Ok(found);
                }
                self.aside.push_back(message);
            }
        };
        timeout(PATIENCE, answered).await.unwrap_or_else(|_| Err(silent()))
    }

    /// What the broker sends by itself. A call that is dropped loses nothing.
    pub(super) async fn next(&mut self) -> Result<Box<Message>, Fault> {
        match self.aside.pop_front() {
            Some(message) => Ok(message),
            None => self.read().await,
        }
    }

    /// Whether the broker has shown itself not long ago.
    pub(super) fn lives(&self) -> Result<(), Fault> {
        if self.heard.elapsed() < SILENCE { Ok(()) } else { Err(silent()) }
    }

    async fn read(&mut self) -> Result<Box<Message>, Fault> {
        loop {
            let message = arrived(self.framed.next().await)?;
            self.heard = Instant::now();
            if message.command.ping.is_some() {
                let pong = Some(CommandPong {});
                self.send(BaseCommand { r#type: Type::Pong.into(), pong, ..BaseCommand::default() }).await?;
            } else if message.command.auth_challenge.is_some() {
                self.renew().await?;
            } else if message.command.pong.is_none() {
                return Ok(message);
            }
        }
    }

    /// Sends the credentials again, because the previous ones have expired.
    async fn renew(&mut self) -> Result<(), Fault> {
        let response = CommandAuthResponse {
            client_version: None,
            response: self.credentials()?,
            protocol_version: Some(PROTOCOL),
        };
        let auth_response = Some(response);
        self.send(BaseCommand { r#type: Type::AuthResponse.into(), auth_response, ..BaseCommand::default() }).await
    }
}

/// What came, if anything did; large, and so not kept where tasks keep what they wait with.
fn arrived(message: Option<Result<Message, ConnectionError>>) -> Result<Box<Message>, Fault> {
    let closed = || Fault::Away("the broker has closed the connection".to_owned());
    message.ok_or_else(closed)?.map(Box::new).map_err(away)
}

/// What an answer means that says no.
pub(super) fn refused(code: i32, message: Option<String>) -> Fault {
    let message = message.unwrap_or_default();
    // brokers add the trace of the stack
    let message = message.lines().next().unwrap_or_default().to_owned();
    Fault::Refused(ServerError::try_from(code).unwrap_or(ServerError::UnknownError), message)
}

fn away(error: impl std::fmt::Display) -> Fault {
    Fault::Away(error.to_string())
}

fn silent() -> Fault {
    Fault::Away("the broker does not answer".to_owned())
}
