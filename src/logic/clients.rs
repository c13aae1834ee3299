//! The table of clients: who holds which bucket.
//!
//! Bounded whatever arrives, and it forgets only full buckets, a few at a time: no
//! sweep ever stops the world, and no flood of newcomers refills a drained bucket.
//! It also keeps the one thing a bucket cannot: the latest moment seen, so that a
//! clock that goes back changes nothing.

use std::net::IpAddr;

use super::address::{Client, Hop};
use super::bucket::{Bucket, Cost, Decision, Limit, Nanos};
use super::table::Table;

/// Slots looked at per turn, to see whether their buckets are full and can be forgotten:
/// more than one newcomer can fill, so the table shrinks while traffic goes on.
const LOOKED_AT_PER_TURN: usize = 4;
/// Longest IPv6 prefix that fits a key of 8 bytes.
const SHORT_PREFIX: u8 = 64;
/// Upper halves of keys that are no IPv6 network a client can have: multicast ones (RFC 4291, 2.7).
const V4_KEYS: u64 = 0xffff_ffff_0000_0000;
const UNIX_KEY: u64 = 0xffff_fffe_0000_0000;
const NO_KEY: u64 = 0xffff_fffd_0000_0000;

/// Buckets by client, at most `buckets_max` of them.
#[derive(Debug)]
pub struct Clients {
    buckets: Buckets,
    buckets_max: usize,
    /// What newcomers share while the table is full of buckets that are not.
    overflow: Bucket,
    overflow_limit: Limit,
    latest: Nanos,
}

/// An IPv4 address or an IPv6 /64 fits 8 bytes; a longer prefix takes more.
#[derive(Debug)]
enum Buckets {
    Short(Table<u64>),
    Long(Table<u128>),
}

impl Buckets {
    fn get_mut(&mut self, client: Client) -> Option<&mut Bucket> {
        match self {
            Self::Short(table) => table.get_mut(short_key(client)),
            Self::Long(table) => table.get_mut(long_key(client)),
        }
    }

    fn insert(&mut self, client: Client, bucket: Bucket) {
        match self {
            Self::Short(table) => table.insert(short_key(client), bucket),
            Self::Long(table) => table.insert(long_key(client), bucket),
        }
    }

    fn forget(&mut self, now: Nanos, slots: usize) {
        match self {
            Self::Short(table) => table.forget(now, slots),
            Self::Long(table) => table.forget(now, slots),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Short(table) => table.entries(),
            Self::Long(table) => table.entries(),
        }
    }

    fn forgotten(&self) -> u64 {
        match self {
            Self::Short(table) => table.forgotten(),
            Self::Long(table) => table.forgotten(),
        }
    }
}

fn short_key(client: Client) -> u64 {
    (long_key(client) >> 64) as u64
}

/// The upper half alone tells clients of up to a /64 apart.
fn long_key(client: Client) -> u128 {
    match client.hop() {
        // Only a forged header can name one of these, and then it is moved out of the way of
        // the keys above, into addresses that nobody has.
        Hop::Ip(IpAddr::V6(v6)) if v6.segments()[0] == 0xffff => v6.to_bits() & (u128::MAX >> 1),
        Hop::Ip(IpAddr::V6(v6)) => v6.to_bits(),
        Hop::Ip(IpAddr::V4(v4)) => u128::from(V4_KEYS | u64::from(v4.to_bits())) << 64,
        Hop::Unix => u128::from(UNIX_KEY) << 64,
    }
}

/// What the table said to one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What the bucket said.
    pub decision: Decision,
    /// The table was full: this was the shared bucket, under the default limit.
    pub overflowed: bool,
}

impl Clients {
    /// A table of at most `buckets_max` buckets; newcomers beyond it share one under
    /// `overflow_limit`. A client of IPv6 is an address or a network of `ipv6_prefix` bits.
    pub fn new(buckets_max: usize, ipv6_prefix: u8, overflow_limit: Limit) -> Self {
        let buckets = if ipv6_prefix <= SHORT_PREFIX {
            Buckets::Short(Table::new(buckets_max, NO_KEY))
        } else {
            Buckets::Long(Table::new(buckets_max, u128::from(NO_KEY) << 64))
        };
        Self {
            buckets,
            buckets_max,
            overflow: Bucket::FULL,
            overflow_limit,
            latest: 0,
        }
    }

    /// Takes `cost` tickets from the client's bucket, if they are there.
    pub fn take(&mut self, client: Client, now: Nanos, limit: &Limit, cost: Cost) -> Answer {
        self.latest = self.latest.max(now);
        let now = self.latest;
        if let Some(bucket) = self.buckets.get_mut(client) {
            let decision = bucket.take(now, limit, cost);
            self.buckets.forget(now, LOOKED_AT_PER_TURN);
            return Answer {
                decision,
                overflowed: false,
            };
        }
        self.buckets.forget(now, LOOKED_AT_PER_TURN);
        if self.buckets.len() >= self.buckets_max {
            return Answer {
                decision: self.overflow.take(now, &self.overflow_limit, cost),
                overflowed: true,
            };
        }
        let mut bucket = Bucket::FULL;
        let decision = bucket.take(now, limit, cost);
        self.buckets.insert(client, bucket);
        Answer {
            decision,
            overflowed: false,
        }
    }

    /// Clients remembered.
    pub fn len(&self) -> usize {
        self.buckets.len()
    }

    /// Clients forgotten so far.
    pub fn forgotten(&self) -> u64 {
        self.buckets.forgotten()
    }

    /// Nobody is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Looks at so many slots more, when traffic does not: so that memory goes back when it ends.
    pub fn forget(&mut self, now: Nanos, slots: usize) {
        self.latest = self.latest.max(now);
        self.buckets.forget(self.latest, slots);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn client(n: u32) -> Client {
        Client::of(Hop::new(IpAddr::V4(Ipv4Addr::from(n))), 64)
    }

    fn limit(rate: &str, burst: &str) -> Limit {
        Limit::new(rate.parse().unwrap(), burst.parse().unwrap()).unwrap()
    }

    fn admits(table: &mut Clients, n: u32, now: Nanos, limit: &Limit) -> bool {
        let answer = table.take(client(n), now, limit, Cost::ONE);
        answer.decision.wait.is_none()
    }

    #[test]
    fn a_flood_neither_refills_a_drained_bucket_nor_passes_the_bound() {
        let limit = limit("1/min", "2");
        let mut table = Clients::new(100, 64, limit.clone());
        assert!(admits(&mut table, 1, 0, &limit));
        assert!(admits(&mut table, 1, 0, &limit));
        for n in 0..1_000 {
            table.take(client(1_000 + n), SECOND, &limit, Cost::ONE);
            assert!(table.len() <= 100);
            assert!(!admits(&mut table, 1, SECOND, &limit));
        }
    }

    #[test]
    fn newcomers_share_one_bucket_when_the_table_is_full_of_live_ones() {
        let limit = limit("1/min", "2");
        let mut table = Clients::new(3, 64, limit.clone());
        for n in 0..3 {
            assert!(!table.take(client(n), 0, &limit, Cost::ONE).overflowed);
        }
        let shared: Vec<_> = (10..14)
            .map(|n| table.take(client(n), 0, &limit, Cost::ONE))
            .collect();
        assert!(shared.iter().all(|a| a.overflowed));
        let admitted = shared.iter().filter(|a| a.decision.wait.is_none()).count();
        assert_eq!(admitted, 2, "the shared bucket holds one burst");
        assert!(
            admits(&mut table, 0, 0, &limit),
            "who is known keeps their own"
        );
        // Where the full ones lie is chance; three turns look at all eight slots.
        let overflowed = [10, 11, 12].map(|n| {
            let later = table.take(client(n), 120 * SECOND, &limit, Cost::ONE);
            later.overflowed
        });
        assert!(!overflowed[2], "full buckets make room: {overflowed:?}");
    }

    /// Addresses whose bits are those of a key of ours are clients of their own.
    #[test]
    fn no_address_is_mistaken_for_another_kind_of_client() {
        for prefix in [64, 128] {
            let limit = limit("1/h", "1");
            let mut table = Clients::new(100, prefix, limit.clone());
            let of = |text: &str| Client::of(Hop::new(text.parse().unwrap()), prefix);
            let clients = [
                of("192.0.2.1"),
                of("ffff:ffff:c000:201::"),
                of("ffff:fffe::"),
                of("ffff:fffd::"),
                of("::"),
                Client::UNIX,
            ];
            for (n, client) in clients.into_iter().enumerate() {
                let mut admitted = || {
                    let answer = table.take(client, 1, &limit, Cost::ONE);
                    answer.decision.wait.is_none()
                };
                assert!(admitted(), "client {n}");
                assert!(!admitted(), "client {n}");
            }
            assert_eq!(table.len(), clients.len());
        }
    }

    #[test]
    fn full_buckets_are_forgotten_while_traffic_goes_on() {
        let limit = limit("2", "2");
        let mut table = Clients::new(1_000, 64, limit.clone());
        for n in 0..500 {
            table.take(client(n), 0, &limit, Cost::ONE);
        }
        assert_eq!(table.len(), 500);
        for _ in 0..500 {
            table.take(client(7), 10 * SECOND, &limit, Cost::ONE);
        }
        assert_eq!(table.len(), 1);
        // The one that goes on may have been forgotten once itself, before its next turn.
        assert!([499, 500].contains(&table.forgotten()));
    }

    proptest! {
        /// A clock that stands still or goes back changes nothing: it reads as the latest moment seen.
        #[test]
        fn a_clock_that_goes_back_reads_as_standing_still(
            steps in prop::collection::vec((0u32..4, -3i64..3), 1..200),
        ) {
            let limit = limit("2", "2");
            let mut jumping = Clients::new(10, 64, limit.clone());
            let mut standing = Clients::new(10, 64, limit.clone());
            let mut now: i64 = 0;
            let mut latest = 0;
            for (n, step) in steps {
                now = (now + step * 300_000_000).max(0);
                latest = latest.max(now);
                let now = u64::try_from(now).unwrap();
                let latest = u64::try_from(latest).unwrap();
                prop_assert_eq!(
                    jumping.take(client(n), now, &limit, Cost::ONE),
                    standing.take(client(n), latest, &limit, Cost::ONE)
                );
            }
        }

        /// While nobody overflows, the table says what unbounded buckets of their own would say.
        #[test]
        fn forgetting_is_invisible(
            steps in prop::collection::vec((0u32..20, 0u64..900_000_000), 1..300),
        ) {
            let limit = limit("2", "2");
            let mut table = Clients::new(20, 64, limit.clone());
            let mut alone: HashMap<u32, Bucket> = HashMap::new();
            let mut now = 0;
            for (n, step) in steps {
                now += step;
                let answer = table.take(client(n), now, &limit, Cost::ONE);
                let bucket = alone.entry(n).or_insert(Bucket::FULL);
                prop_assert!(!answer.overflowed);
                prop_assert_eq!(answer.decision, bucket.take(now, &limit, Cost::ONE));
            }
        }
    }
}
