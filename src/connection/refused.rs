//! Why connections were not served as they wished: what the operator is told. Counts nothing.

/// Why a connection was not served as it wished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedBecause {
    /// The system gave none: no descriptor is left, or no memory.
    AcceptFailed,
    /// All were open and none was idle: the newcomer had to wait.
    AllBusy,
    /// It was idle, and made room for a newcomer.
    Idle,
    /// Too many bytes of answers were not yet sent, and it was the slowest.
    Unsent,
    /// It took too long with a head, or with taking an answer.
    Timeout,
}

impl RefusedBecause {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::AcceptFailed,
        Self::AllBusy,
        Self::Idle,
        Self::Unsent,
        Self::Timeout,
    ];

    /// As it stands in the metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::AcceptFailed => "accept_failed",
            Self::AllBusy => "all_busy",
            Self::Idle => "idle",
            Self::Unsent => "unsent",
            Self::Timeout => "timeout",
        }
    }
}
