"use strict";
// The ten algorithms once more, decision for decision those of src/logic/limiter.rs, in whole
// nanoseconds (BigInt). A test holds the two against each other over random arrivals.
// `decide` answers with the moment of service, or with null: refused.
// `look` answers with the level and its top, in turns, and the window that counts now.

const MOMENT_MAX = (2n ** 64n - 1n) / 2n;
const bounded = (moment) => (moment < MOMENT_MAX ? moment : MOMENT_MAX);
const later = (a, b) => (a > b ? a : b);
const above = (a, b) => (a > b ? a - b : 0n); // a - b, and never below 0
const inTurns = (stretch, interval) => Number(stretch) / Number(interval);

/** What a rate such as `2`, `30/min` or `10/10s` is: a count, and the time it comes in. */
function rateOf(given) {
  const [, count, many, unit] = /^([0-9.]+)(?:\/([0-9]*)([a-z]+))?$/.exec(given.trim());
  const seconds = { s: 1, sec: 1, m: 60, min: 60, h: 3600, d: 86400 }[unit ?? "s"];
  const per = unit === undefined ? "" : `/${many}${unit}`;
  return { count: Number(count), nanos: (many ? Number(many) : 1) * seconds * 1e9, per };
}

/** `burst` turns at a rate: an interval is rounded up, a window to the nearest nanosecond. */
function limitOf(rate, burst) {
  const interval = BigInt(Math.ceil(rate.nanos / rate.count));
  const window = BigInt(Math.round((rate.nanos * burst) / rate.count));
  return { interval, window, burst: BigInt(burst), fill: interval * BigInt(burst) };
}

class States extends Map {
  constructor(fresh) {
    super();
    this.fresh = fresh;
  }
  of(client) {
    return this.get(client) ?? this.fresh;
  }
}

class TokenBucket {
  constructor(limit) {
    this.limit = limit;
    this.fullAt = new States(0n);
  }
  missing(client, now) {
    const missing = above(this.fullAt.of(client), now);
    return missing < this.limit.fill ? missing : this.limit.fill;
  }
  decide(client, at) {
    const now = bounded(at);
    const missing = this.missing(client, now) + this.limit.interval;
    if (missing > this.limit.fill) return null;
    this.fullAt.set(client, now + missing);
    return at;
  }
  look(client, at) {
    const left = this.limit.fill - this.missing(client, bounded(at));
    return { level: inTurns(left, this.limit.interval), full: Number(this.limit.burst), window: null };
  }
}

class Gcra {
  constructor(limit, hasBurst) {
    this.interval = limit.interval;
    this.tolerance = hasBurst ? limit.fill - limit.interval : 0n;
    this.full = hasBurst ? Number(limit.burst) : 1;
    this.theoretical = new States(0n);
  }
  decide(client, at) {
    const now = bounded(at);
    const theoretical = this.theoretical.of(client);
    if (theoretical > now + this.tolerance) return null;
    this.theoretical.set(client, later(now, theoretical) + this.interval);
    return at;
  }
  look(client, at) {
    const ahead = above(this.theoretical.of(client), bounded(at));
    return { level: inTurns(ahead, this.interval), full: this.full, window: null };
  }
}

class Meter {
  constructor(limit) {
    this.limit = limit;
    this.fills = new States({ level: 0n, at: 0n });
  }
  level(client, now) {
    const fill = this.fills.of(client);
    return above(fill.level, above(now, fill.at));
  }
  decide(client, at) {
    const now = bounded(at);
    const level = this.level(client, now) + this.limit.interval;
    if (level > this.limit.fill) return null;
    this.fills.set(client, { level, at: now });
    return at;
  }
  look(client, at) {
    const { interval, fill } = this.limit;
    return { level: inTurns(this.level(client, bounded(at)), interval), full: inTurns(fill, interval), window: null };
  }
}

class Queue {
  constructor(limit) {
    this.limit = limit;
    this.lastLeaving = new States(0n);
  }
  decide(client, at) {
    const now = bounded(at);
    const last = this.lastLeaving.of(client);
    if (above(last, now) > this.limit.fill - this.limit.interval) return null;
    const leaving = later(now, last) + this.limit.interval;
    this.lastLeaving.set(client, leaving);
    return later(at, leaving);
  }
  look(client, at) {
    const { interval, burst } = this.limit;
    const ahead = above(this.lastLeaving.of(client), bounded(at));
    return { level: Number((ahead + interval - 1n) / interval), full: Number(burst), window: null };
  }
}

/** SplitMix64: a share of the window for each client. */
function share(window, client) {
  const whole = (n) => BigInt.asUintN(64, n);
  let hash = whole(BigInt(client) + 0x9e3779b97f4a7c15n);
  hash = whole((hash ^ (hash >> 30n)) * 0xbf58476d1ce4e5b9n);
  hash = whole((hash ^ (hash >> 27n)) * 0x94d049bb133111ebn);
  hash ^= hash >> 31n;
  return (hash * window) >> 64n;
}

class FixedWindow {
  constructor(limit, hasOffsets) {
    this.limit = limit;
    this.hasOffsets = hasOffsets;
    this.counts = new States({ number: 0n, count: 0n });
  }
  seen(client, now) {
    const offset = this.hasOffsets ? share(this.limit.window, client) : 0n;
    const number = (now + offset) / this.limit.window;
    const counted = this.counts.of(client);
    return { offset, number, count: counted.number === number ? counted.count : 0n };
  }
  decide(client, at) {
    const { number, count } = this.seen(client, bounded(at));
    if (count >= this.limit.burst) return null;
    this.counts.set(client, { number, count: count + 1n });
    return at;
  }
  look(client, at) {
    const { offset, number, count } = this.seen(client, bounded(at));
    const start = number * this.limit.window;
    return {
      level: Number(count),
      full: Number(this.limit.burst),
      window: [above(start, offset), start + this.limit.window - offset],
    };
  }
}

class FromFirst {
  constructor(limit) {
    this.limit = limit;
    this.opened = new States({ at: 0n, count: 0n });
  }
  open(client, now) {
    const opened = this.opened.of(client);
    return opened.count > 0n && above(now, opened.at) < this.limit.window ? opened : null;
  }
  decide(client, at) {
    const now = bounded(at);
    const opened = this.open(client, now) ?? { at: now, count: 0n };
    if (opened.count >= this.limit.burst) return null;
    this.opened.set(client, { at: opened.at, count: opened.count + 1n });
    return at;
  }
  look(client, at) {
    const opened = this.open(client, bounded(at));
    return {
      level: Number(opened?.count ?? 0n),
      full: Number(this.limit.burst),
      window: opened && [opened.at, opened.at + this.limit.window],
    };
  }
}

class Log {
  constructor(limit) {
    this.limit = limit;
    this.remembered = new Map();
  }
  last(client, now) {
    const turns = this.remembered.get(client) ?? [];
    return turns.filter((at) => above(now, at) < this.limit.window);
  }
  decide(client, at) {
    const now = bounded(at);
    const turns = this.last(client, now);
    const isFull = BigInt(turns.length) >= this.limit.burst;
    if (!isFull) turns.push(now);
    this.remembered.set(client, turns);
    return isFull ? null : at;
  }
  look(client, at) {
    const now = bounded(at);
    const end = now + 1n;
    return {
      level: this.last(client, now).length,
      full: Number(this.limit.burst),
      window: [above(end, this.limit.window), end],
    };
  }
}

class Counter {
  constructor(limit) {
    this.limit = limit;
    this.counts = new States({ number: 0n, current: 0n, previous: 0n });
  }
  seen(client, number) {
    const counts = this.counts.of(client);
    const passed = above(number, counts.number);
    if (passed === 0n) return counts;
    return { number, current: 0n, previous: passed === 1n ? counts.current : 0n };
  }
  /** The estimate, times the window. */
  estimate(counts, now) {
    const left = this.limit.window - (now % this.limit.window);
    return counts.current * this.limit.window + counts.previous * left;
  }
  decide(client, at) {
    const now = bounded(at);
    const counts = this.seen(client, now / this.limit.window);
    const isBelow = this.estimate(counts, now) < this.limit.burst * this.limit.window;
    this.counts.set(client, { ...counts, current: counts.current + (isBelow ? 1n : 0n) });
    return isBelow ? at : null;
  }
  look(client, at) {
    const now = bounded(at);
    const number = now / this.limit.window;
    const start = number * this.limit.window;
    return {
      level: inTurns(this.estimate(this.seen(client, number), now), this.limit.window),
      full: Number(this.limit.burst),
      window: [start, start + this.limit.window],
    };
  }
}

const START = {
  "token-bucket": (limit) => new TokenBucket(limit),
  "gcra": (limit) => new Gcra(limit, true),
  "gcra-no-burst": (limit) => new Gcra(limit, false),
  "leaky-bucket": (limit) => new Meter(limit),
  "leaky-queue": (limit) => new Queue(limit),
  "fixed-window": (limit) => new FixedWindow(limit, false),
  "fixed-window-first": (limit) => new FromFirst(limit),
  "fixed-window-offset": (limit) => new FixedWindow(limit, true),
  "sliding-log": (limit) => new Log(limit),
  "sliding-window": (limit) => new Counter(limit),
};
