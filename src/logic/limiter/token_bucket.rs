//! The token bucket: a face for the gateway's own [`Bucket`], which does all the deciding.
//! Never a second version of it: what is shown here is what production does.
//!
//! State: 8 bytes, the moment at which the bucket is full again. Guarantee: in T seconds
//! at most `burst + rate × T`, which is `2 × burst − 1` within one window. Source: RFC 2215
//! (`TOKEN_BUCKET_TSPEC`); see [`bucket`](super::super::bucket).

use super::super::bucket::{Bucket, Cost, Limit, Nanos};
use super::{Clients, Limiter, Look, MOMENT_MAX, Verdict, in_turns};

pub(super) const STATE_BYTES: usize = size_of::<Bucket>();

/// Buckets, one for each client.
pub(super) struct TokenBucket {
    limit: Limit,
    buckets: Clients<Bucket>,
}

impl TokenBucket {
    pub(super) fn new(limit: &Limit) -> Self {
        Self {
            limit: limit.clone(),
            buckets: Clients::new(),
        }
    }
}

impl Limiter for TokenBucket {
    fn decide(&mut self, client: u32, now: Nanos) -> Verdict {
        let bucket = self.buckets.get_mut(client);
        let decision = bucket.take(now.min(MOMENT_MAX), &self.limit, Cost::ONE);
        match decision.wait {
            None => Verdict::Admitted,
            Some(_) => Verdict::Refused,
        }
    }

    fn look(&self, client: u32, now: Nanos) -> Look {
        let bucket = self.buckets.get(client);
        let missing = bucket.missing_nanos(now.min(MOMENT_MAX), &self.limit);
        let left = self.limit.fill_nanos() - missing;
        Look {
            level: in_turns(left, self.limit.rate().interval_nanos()),
            full: f64::from(self.limit.burst().tickets()),
            window: None,
        }
    }
}
