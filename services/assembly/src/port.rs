//! The port of a program.

use anyhow::{Context, Result};
use socket2::{Domain, Protocol, Socket, Type};
use std::net::{Ipv6Addr, SocketAddr};
use tokio::net::{TcpListener, TcpSocket};

/// All addresses of a machine, in the words of IPv4.
const ALL: &str = "0.0.0.0";

/// Connections that may wait until they are taken; the system may allow less. Beyond it clients try again after a second, so
/// that many new connections at once would delay all others.
const WAITING: u16 = 4096;

/// Opens the port. `0.0.0.0` is every address of the machine, those of IPv6 as well where it has some: in a cluster that
/// has only IPv6, the port could not be reached otherwise.
pub(crate) async fn bind(host: &str, port: u16) -> Result<TcpListener> {
    if host == ALL
        && let Ok(listener) = on_both(port)
    {
        return Ok(listener);
    }
    on_first(host, port).await.with_context(|| format!("failed to listen on {host}:{port}"))
}

/// On the first address of a host that can be listened on.
async fn on_first(host: &str, port: u16) -> std::io::Result<TcpListener> {
    let mut refused = std::io::Error::other("the host has no address");
    for address in tokio::net::lookup_host((host, port)).await? {
        match on(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn on(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?; // as the standard library does
    socket.bind(address)?;
    socket.listen(WAITING.into())
}

/// On all addresses, of both kinds; an error where there is no IPv6, or the port is taken.
fn on_both(port: u16) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV6, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_only_v6(false)?;
    socket.set_reuse_address(true)?; // as the standard library does
    socket.bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)).into())?;
    socket.listen(WAITING.into())?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::time::Duration;
    use tokio::net::TcpStream;

    #[tokio::test]
    async fn every_address_of_the_machine_is_listened_on() {
        let listener = bind(ALL, 0).await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.expect("by IPv4");
        if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.is_ok() {
            TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await.expect("by IPv6");
        }
        let taken = bind(ALL, port).await.expect_err("it is taken");
        assert_eq!(taken.to_string(), format!("failed to listen on 0.0.0.0:{port}"));
    }

    #[tokio::test]
    async fn many_connections_may_wait_until_they_are_taken() {
        for host in [ALL, "127.0.0.1"] {
            let listener = bind(host, 0).await.expect("a free port");
            let address = (Ipv4Addr::LOCALHOST, listener.local_addr().expect("bound").port()).into();
            // one that finds no room would not be connected at all
            let connect = |_| std::net::TcpStream::connect_timeout(&address, Duration::from_secs(60));
            let waiting: Result<Vec<_>, _> = (0..300).map(connect).collect();
            assert!(waiting.is_ok(), "{host}: {waiting:?}");
        }
    }

    #[tokio::test]
    async fn an_address_that_is_named_is_listened_on_alone() {
        let listener = bind("127.0.0.1", 0).await.expect("a free port");
        assert_eq!(listener.local_addr().expect("bound").ip(), Ipv4Addr::LOCALHOST);
    }
}
