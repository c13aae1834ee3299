//! Buckets by key, packed: 16 bytes a slot for a key of 8, nothing else per entry. Never
//! stops the world: it is many small tables, of which at most one is moved at a time.
//!
//! Open addressing with linear probing (Knuth, TAOCP 3, 6.4, algorithm L), and removal by
//! moving later entries back (algorithm R), so that no tombstones pile up. The hash is
//! keyed afresh at each start: nobody outside can aim at one slot.

use std::hash::{BuildHasher, Hash, RandomState};

use super::bucket::{Bucket, Nanos};

/// Entries that one shard holds when the whole table does: what is moved at a time.
const ENTRIES_PER_SHARD: usize = 1024;
/// Slots of the smallest shard that holds anything.
const SLOTS_MIN: usize = 8;
/// A shard grows when more than four fifths of its slots are taken.
const LOAD_MAX: (usize, usize) = (4, 5);
/// A shard shrinks when less than a fifth is.
const LOAD_MIN: (usize, usize) = (1, 5);

/// Buckets by key. `K` is any plain integer with one value that is no key.
#[derive(Debug)]
pub struct Table<K> {
    shards: Box<[Shard<K>]>,
    no_key: K,
    hashing: RandomState,
    len: usize,
    forgotten: u64,
    /// Where [`Table::forget`] looks next.
    cursor: (usize, usize),
}

#[derive(Clone, Debug)]
struct Shard<K> {
    /// Zero, or a power of two.
    slots: Box<[(K, Bucket)]>,
    len: usize,
}

impl<K: Copy + Eq + Hash> Table<K> {
    /// An empty table, good for about `entries_max`. `no_key` marks a free slot.
    pub fn new(entries_max: usize, no_key: K) -> Self {
        let shards = (entries_max / ENTRIES_PER_SHARD).next_power_of_two();
        let empty = Shard {
            slots: Box::default(),
            len: 0,
        };
        Self {
            shards: vec![empty; shards].into(),
            no_key,
            hashing: RandomState::new(),
            len: 0,
            forgotten: 0,
            cursor: (0, 0),
        }
    }

    /// How many there are.
    pub fn entries(&self) -> usize {
        self.len
    }

    /// How many were forgotten so far.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The bucket of this key.
    pub fn get_mut(&mut self, key: K) -> Option<&mut Bucket> {
        let hash = self.hash(key);
        let shard = &mut self.shards[shard_of(hash, self.shards.len())];
        let at = shard.find(key, hash, self.no_key)?;
        Some(&mut shard.slots[at].1)
    }

    /// Adds a key that is not there.
    pub fn insert(&mut self, key: K, bucket: Bucket) {
        debug_assert!(key != self.no_key, "it would be lost");
        let hash = self.hash(key);
        let at = shard_of(hash, self.shards.len());
        if self.shards[at].is_crowded() {
            self.resize(at, (self.shards[at].slots.len() * 2).max(SLOTS_MIN));
        }
        self.shards[at].put(key, bucket, hash, self.no_key);
        self.len += 1;
    }

    /// Looks at the next so many slots and forgets the buckets that are full at `now`.
    /// Gives memory back as shards empty.
    pub fn forget(&mut self, now: Nanos, slots: usize) {
        if self.len == 0 {
            return;
        }
        for _ in 0..slots {
            let (shard, slot) = self.cursor;
            let Some((key, bucket)) = self.shards[shard].slots.get(slot).copied() else {
                self.cursor = ((shard + 1) % self.shards.len(), 0);
                continue;
            };
            if key == self.no_key || !bucket.is_full(now) {
                self.cursor = (shard, slot + 1);
                continue;
            }
            // Another entry may have moved into this slot: it is looked at next.
            self.remove(shard, slot);
            self.len -= 1;
            self.forgotten += 1;
            if let Some(slots) = self.shards[shard].fewer_slots() {
                self.resize(shard, slots);
                self.cursor = (shard, 0);
            }
        }
    }

    fn hash(&self, key: K) -> u64 {
        self.hashing.hash_one(key)
    }

    /// Closes the gap: each later entry of the run moves back, unless that would put it before its own place.
    fn remove(&mut self, shard: usize, slot: usize) {
        let no_key = self.no_key;
        let mask = self.shards[shard].slots.len() - 1;
        let mut gap = slot;
        let mut at = slot;
        loop {
            at = (at + 1) & mask;
            let key = self.shards[shard].slots[at].0;
            if key == no_key {
                break;
            }
            let home = slot_of(self.hash(key), mask);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.shards[shard].slots[gap] = self.shards[shard].slots[at];
                gap = at;
            }
        }
        self.shards[shard].slots[gap] = (no_key, Bucket::FULL);
        self.shards[shard].len -= 1;
    }

    fn resize(&mut self, shard: usize, slots: usize) {
        let fresh = vec![(self.no_key, Bucket::FULL); slots].into();
        let old = std::mem::replace(&mut self.shards[shard].slots, fresh);
        self.shards[shard].len = 0;
        for (key, bucket) in old.iter().copied().filter(|(key, _)| *key != self.no_key) {
            let hash = self.hash(key);
            self.shards[shard].put(key, bucket, hash, self.no_key);
        }
    }
}

impl<K: Copy + Eq> Shard<K> {
    fn find(&self, key: K, hash: u64, no_key: K) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = slot_of(hash, mask);
        loop {
            let found = self.slots[at].0;
            if found == key {
                return Some(at);
            }
            if found == no_key {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    fn put(&mut self, key: K, bucket: Bucket, hash: u64, no_key: K) {
        let mask = self.slots.len() - 1;
        let mut at = slot_of(hash, mask);
        while self.slots[at].0 != no_key {
            at = (at + 1) & mask;
        }
        self.slots[at] = (key, bucket);
        self.len += 1;
    }

    /// One more would be too many.
    fn is_crowded(&self) -> bool {
        (self.len + 1) * LOAD_MAX.1 > self.slots.len() * LOAD_MAX.0
    }

    /// How many slots would do, if there are far too many.
    fn fewer_slots(&self) -> Option<usize> {
        let slots = self.slots.len();
        if self.len == 0 {
            return Some(0);
        }
        let is_deserted = self.len * LOAD_MIN.1 < slots * LOAD_MIN.0;
        (is_deserted && slots > SLOTS_MIN).then_some(slots / 2)
    }
}

/// The upper half of the hash picks the shard, the lower the slot.
fn shard_of(hash: u64, shards: usize) -> usize {
    (hash >> 32) as usize & (shards - 1)
}

#[expect(clippy::cast_possible_truncation, reason = "32 bits each are enough")]
fn slot_of(hash: u64, mask: usize) -> usize {
    hash as u32 as usize & mask
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::super::bucket::{Cost, Limit};
    use super::*;

    const NO_KEY: u64 = u64::MAX;

    /// A bucket that is full at this second.
    fn full_at(second: u64) -> Bucket {
        let limit = Limit::new("1".parse().unwrap(), "1000000".parse().unwrap()).unwrap();
        let cost: Cost = (second + 1).to_string().parse().unwrap();
        let mut bucket = Bucket::FULL;
        bucket.take(0, &limit, cost);
        bucket
    }

    const SECOND: Nanos = 1_000_000_000;

    #[test]
    fn a_slot_is_16_bytes() {
        assert_eq!(size_of::<(u64, Bucket)>(), 16);
    }

    #[test]
    fn it_grows_and_gives_memory_back() {
        let mut table = Table::new(100_000, NO_KEY);
        let slots = |table: &Table<u64>| table.shards.iter().map(|s| s.slots.len()).sum::<usize>();
        for key in 0..100_000 {
            table.insert(key, full_at(1));
        }
        assert_eq!(table.entries(), 100_000);
        let most = slots(&table);
        assert!(most <= 100_000 * 5 / 2, "{most} slots");
        for key in 0..100_000 {
            assert!(table.get_mut(key).is_some());
        }
        table.forget(SECOND, 4 * most);
        assert_eq!(table.entries(), 100_000, "nothing was full");
        table.forget(2 * SECOND, 4 * most);
        assert_eq!((table.entries(), slots(&table)), (0, 0));
    }

    proptest! {
        /// Says what a map of the standard library says, whatever is done to it.
        #[test]
        fn it_is_a_map(
            steps in prop::collection::vec((0u64..300, 0u64..20, 0u8..4), 1..1_000),
        ) {
            let mut table = Table::new(4_096, NO_KEY);
            let mut map: HashMap<u64, Bucket> = HashMap::new();
            let mut now = 0;
            for (key, second, what) in steps {
                match what {
                    0 | 1 => {
                        let bucket = full_at(now / SECOND + second);
                        match table.get_mut(key) {
                            Some(known) => *known = bucket,
                            None => table.insert(key, bucket),
                        }
                        map.insert(key, bucket);
                    }
                    2 => now += second * SECOND / 4,
                    _ => {
                        table.forget(now, usize::try_from(second).unwrap() * 8);
                    }
                }
                for (key, bucket) in &map {
                    match table.get_mut(*key) {
                        Some(known) => prop_assert_eq!(known, bucket),
                        None => prop_assert!(bucket.is_full(now), "{} was forgotten too early", key),
                    }
                }
                map.retain(|key, _| table.get_mut(*key).is_some());
                prop_assert_eq!(table.entries(), map.len());
            }
        }
    }
}
