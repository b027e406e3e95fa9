//! A bad network: connections through it are delayed, held up, cut or reset.

use crate::random::Random;
use socket2::SockRef;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// What happens to bytes on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    Pass,
    /// They come later, in order.
    Delay(Duration),
    /// This number of bytes passes in each direction of a connection, then it ends, perhaps in the middle of a message.
    Cut(usize),
    /// The same, and both ends are told that the connection is broken.
    Reset(usize),
    /// Nothing arrives. What was sent comes when another mode begins, though its sender may be gone.
    BlackHole,
}

impl Mode {
    /// Any but [`Mode::Pass`].
    pub fn random(random: &mut Random) -> Self {
        match random.below(4) {
            0 => Self::Delay(Duration::from_millis(1 + random.below(150) as u64)),
            1 => Self::Cut(random.below(30_000)),
            2 => Self::Reset(random.below(30_000)),
            _ => Self::BlackHole,
        }
    }
}

/// A port that leads to another one.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    to: SocketAddr,
    /// With the number of times that it has changed.
    mode: Mutex<(u64, Mode)>,
    changed: Condvar,
    over: AtomicBool,
    broken: AtomicU64,
    carried: AtomicU64,
    pairs: Mutex<Vec<Weak<Pair>>>,
}

/// Both connections of one.
struct Pair {
    client: TcpStream,
    server: TcpStream,
}

impl Proxy {
    /// Leads to `to` on this machine.
    ///
    /// # Panics
    /// When no port is free.
    pub fn to(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has one");
        let shared = Arc::new(Shared {
            to: SocketAddr::from(([127, 0, 0, 1], to)),
            mode: Mutex::new((0, Mode::Pass)),
            changed: Condvar::new(),
            over: AtomicBool::new(false),
            broken: AtomicU64::new(0),
            carried: AtomicU64::new(0),
            pairs: Mutex::default(),
        });
        let accepting = shared.clone();
        std::thread::spawn(move || listener.incoming().map_while(Result::ok).all(|client| accepting.take(client)));
        Self { address, shared }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// From now on, also for the connections that there are.
    pub fn set(&self, mode: Mode) {
        let mut now = lock(&self.shared.mode);
        *now = (now.0 + 1, mode);
        self.shared.changed.notify_all();
    }

    /// How many connections were cut or reset.
    pub fn broken(&self) -> u64 {
        self.shared.broken.load(Ordering::Relaxed)
    }

    /// How many connections there were.
    pub fn carried(&self) -> u64 {
        self.shared.carried.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        self.set(Mode::Pass);
        drop(TcpStream::connect(self.address)); // it waits for a next one
        lock(&self.shared.pairs).iter().filter_map(Weak::upgrade).for_each(|pair| pair.end(Shutdown::Both));
    }
}

impl Shared {
    /// Whether more may come.
    fn take(self: &Arc<Self>, client: TcpStream) -> bool {
        if self.over.load(Ordering::Relaxed) {
            return false;
        }
        let Ok(server) = TcpStream::connect(self.to) else { return true }; // the client finds it closed
        // small messages go at once, as they do without a proxy
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let pair = Arc::new(Pair { client, server });
        self.carried.fetch_add(1, Ordering::Relaxed);
        lock(&self.pairs).retain(|pair| pair.strong_count() > 0);
        lock(&self.pairs).push(Arc::downgrade(&pair));
        let (shared, other) = (self.clone(), pair.clone());
        std::thread::spawn(move || shared.carry(&other, &other.client, &other.server));
        let shared = self.clone();
        std::thread::spawn(move || shared.carry(&pair, &pair.server, &pair.client));
        true
    }

    /// Brings bytes from one end to the other, until there are no more.
    fn carry(&self, pair: &Pair, mut from: &TcpStream, mut to: &TcpStream) {
        let (mut bytes, mut since, mut passed) = ([0; 8192], 0, 0);
        loop {
            let count = match from.read(&mut bytes) {
                Ok(count) if count > 0 => count,
                _ => break,
            };
            let (number, mode) = self.mode();
            if number != since {
                (since, passed) = (number, 0);
            }
            let left = match mode {
                Mode::Cut(limit) | Mode::Reset(limit) => limit.saturating_sub(passed).min(count),
                _ => count,
            };
            passed += left;
            if to.write_all(&bytes[..left]).is_err() {
                break;
            }
            if left < count {
                self.broken.fetch_add(1, Ordering::Relaxed);
                return pair.break_off(matches!(mode, Mode::Reset(_)));
            }
        }
        let _ = to.shutdown(Shutdown::Write); // it may be closed
    }

    /// How it is now, or when nothing is held up any longer.
    fn mode(&self) -> (u64, Mode) {
        let mut mode = lock(&self.mode);
        while mode.1 == Mode::BlackHole {
            mode = self.changed.wait(mode).unwrap_or_else(PoisonError::into_inner);
        }
        let now = *mode;
        drop(mode);
        if let Mode::Delay(time) = now.1 {
            std::thread::sleep(time);
        }
        now
    }
}

impl Pair {
    fn break_off(&self, reset: bool) {
        if !reset {
            return self.end(Shutdown::Both);
        }
        for stream in [&self.client, &self.server] {
            let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO)); // it may be closed
        }
        self.end(Shutdown::Read); // says nothing to the other side: closing does, when both threads have let go
    }

    fn end(&self, how: Shutdown) {
        let _ = (self.client.shutdown(how), self.server.shutdown(how));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
