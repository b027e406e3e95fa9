//! What happens in the model: a ranking, clicks on it, and events that only count.

/// Moments of event time.
pub(crate) type Time = u8;
/// A set of clicks by number.
pub(crate) type Clicks = u8;

/// A ranking closes when the lowest watermark has passed its last activity by more than this.
pub(crate) const SESSION: Time = 3;
/// A click waits this long for its ranking.
pub(crate) const WAIT: Time = 2;

/// When the one ranking was shown.
pub(crate) const SHOWN: Time = 1;
/// When each click was made.
pub(crate) const CLICKED: [Time; 2] = [2, 3];

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The ranking.
    Ranking,
    /// A click on it.
    Click(u8),
    /// Something else that is counted, long after.
    Plain(u8),
    /// The first of these, in both partitions: its id is remembered, and it counts once.
    Once,
}

impl Kind {
    /// Its time.
    pub(crate) fn time(self) -> Time {
        match self {
            Self::Ranking => SHOWN,
            Self::Click(click) => CLICKED[usize::from(click)],
            Self::Plain(_) | Self::Once => 9,
        }
    }
}

/// The events of two partitions, in the order in which each holds them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Story {
    /// The partitions.
    pub(crate) partitions: [&'static [Kind]; 2],
    /// Clicks that must be in the click-through. The others may come when the ranking is closed already.
    pub(crate) sure: Clicks,
}

impl Story {
    /// Whether the ranking itself is among the events.
    pub(crate) fn has_ranking(&self) -> bool {
        self.partitions.concat().contains(&Kind::Ranking)
    }
}

/// All in order of time; the clicks are in two partitions.
pub(crate) const IN_ORDER: Story = Story {
    partitions: [&[Kind::Ranking, Kind::Click(0), Kind::Plain(0)], &[Kind::Click(1), Kind::Plain(1)]],
    sure: 0b11,
};

/// The second partition holds its click behind a much newer event.
pub(crate) const LATE_CLICK: Story = Story {
    partitions: [&[Kind::Ranking, Kind::Click(0), Kind::Plain(0)], &[Kind::Plain(1), Kind::Click(1)]],
    sure: 0b01,
};

/// The first partition holds the ranking and its click behind a much newer event.
pub(crate) const LATE_RANKING: Story = Story {
    partitions: [&[Kind::Plain(0), Kind::Ranking, Kind::Click(0)], &[Kind::Click(1), Kind::Plain(1)]],
    sure: 0,
};

/// No writer ever sees the ranking.
pub(crate) const NO_RANKING: Story =
    Story { partitions: [&[Kind::Click(0), Kind::Plain(0)], &[Kind::Click(1), Kind::Plain(1)]], sure: 0 };

/// No writer ever sees the ranking, and one event comes to both, as when a request is sent again to another replica.
pub(crate) const REPEATED: Story =
    Story { partitions: [&[Kind::Click(0), Kind::Once], &[Kind::Click(1), Kind::Once, Kind::Plain(1)]], sure: 0 };

/// The numbers in a set of clicks.
pub(crate) fn each(clicks: Clicks) -> impl Iterator<Item = u8> {
    (0..CLICKED.len() as u8).filter(move |click| clicks & (1 << click) != 0)
}
