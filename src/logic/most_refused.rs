//! Who is refused the most, in a bounded memory, whatever arrives.
//!
//! Space-Saving (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and
//! Top-k Elements in Data Streams, 2005): so many counters; a client without one takes the
//! smallest over, with its count as the error. A count is never too low, and never too
//! high by more than its error; whoever has more than all refusals ÷ counters is there.

use super::address::Client;

/// Counters. Who has more than a hundredth of all refusals is surely among them.
pub const COUNTERS: usize = 100;

/// What is known of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Who.
    pub client: Client,
    /// So often, or less.
    pub at_most: u64,
    /// So often, or more.
    pub at_least: u64,
}

/// The counters, highest first.
#[derive(Debug)]
pub struct MostRefused {
    counters: Vec<Counter>,
}

impl Default for MostRefused {
    /// Nobody yet. All the memory it will ever take is taken here.
    fn default() -> Self {
        Self {
            counters: Vec::with_capacity(COUNTERS),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    client: Client,
    count: u64,
    error: u64,
}

impl MostRefused {
    /// One more refusal. Fast for those who are refused the most: they stand in front.
    pub fn count(&mut self, client: Client) {
        let known = self.counters.iter().position(|one| one.client == client);
        let at = match known {
            Some(at) => at,
            None if self.counters.len() < COUNTERS => {
                self.counters.push(Counter {
                    client,
                    count: 0,
                    error: 0,
                });
                self.counters.len() - 1
            }
            None => {
                let last = COUNTERS - 1;
                let error = self.counters[last].count;
                self.counters[last] = Counter {
                    client,
                    count: error,
                    error,
                };
                last
            }
        };
        // Counts go up one by one: changing places with the first of the same count keeps the order.
        let count = self.counters[at].count;
        let first = self.counters[..at].partition_point(|one| one.count > count);
        self.counters.swap(at, first);
        self.counters[first].count += 1;
    }

    /// The first so many, highest first.
    pub fn first(&self, most: usize) -> impl Iterator<Item = Refused> {
        self.counters.iter().take(most).map(|one| Refused {
            client: one.client,
            at_most: one.count,
            at_least: one.count - one.error,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::net::{IpAddr, Ipv4Addr};

    use proptest::prelude::*;

    use super::super::address::Hop;
    use super::*;

    fn client(n: u32) -> Client {
        Client::of(Hop::new(IpAddr::V4(Ipv4Addr::from(n))), 64)
    }

    #[test]
    fn few_clients_are_counted_exactly() {
        let mut refused = MostRefused::default();
        for (n, times) in [(1, 3), (2, 5), (3, 1)] {
            (0..times).for_each(|_| refused.count(client(n)));
        }
        let told: Vec<_> = refused.first(2).collect();
        let exact = |n, times| Refused {
            client: client(n),
            at_most: times,
            at_least: times,
        };
        assert_eq!(told, [exact(2, 5), exact(1, 3)]);
    }

    #[test]
    fn a_flood_of_strangers_does_not_hide_who_is_refused_the_most() {
        let mut refused = MostRefused::default();
        for n in 0..10_000 {
            refused.count(client(1_000 + n));
            if n % 10 == 0 {
                refused.count(client(7));
            }
        }
        let first = refused.first(1).next().unwrap();
        assert_eq!(first.client, client(7));
        assert!(
            first.at_least <= 1_000 && 1_000 <= first.at_most,
            "{first:?}"
        );
        assert_eq!(refused.first(usize::MAX).count(), COUNTERS);
    }

    proptest! {
        /// The truth lies between the two, the order holds, and who has more than their share is there.
        #[test]
        fn the_promises_of_space_saving(seen in prop::collection::vec(0u32..400, 0..3_000)) {
            // Squared, so that some come much more often than others.
            let seen: Vec<_> = seen.into_iter().map(|n| n * n / 400).collect();
            let mut refused = MostRefused::default();
            let mut truth: HashMap<Client, u64> = HashMap::new();
            for n in &seen {
                refused.count(client(*n));
                *truth.entry(client(*n)).or_default() += 1;
            }
            let told: Vec<_> = refused.first(usize::MAX).collect();
            prop_assert!(told.len() <= COUNTERS);
            prop_assert!(told.is_sorted_by(|a, b| a.at_most >= b.at_most));
            for one in &told {
                let times = truth[&one.client];
                prop_assert!(one.at_least <= times && times <= one.at_most, "{:?}: {}", one, times);
            }
            let sum: u64 = told.iter().map(|one| one.at_most).sum();
            prop_assert_eq!(sum, seen.len() as u64);
            for (client, times) in truth {
                if times > (seen.len() / COUNTERS) as u64 {
                    prop_assert!(told.iter().any(|one| one.client == client), "{times}");
                }
            }
        }
    }
}
