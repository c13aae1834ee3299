//! Takes arrivals in one by one, runs them, and makes a [`Figure`] of them at the end. Memory
//! is bounded by clients, not by arrivals: the first few are kept one by one, all are
//! counted in bars, and of the noisiest clients so many have bars of their own.

use super::bins::{self, Bar};
use super::lanes::{self, Whose};
use super::levels::Levels;
use super::story::{self, Numbers, Worst};
use super::{
    ALGORITHMS, About, Asked, Dot, Drawn, Figure, Lane, Marks, Moments, Row, state, words,
};
use crate::logic::bucket::{Limit, Nanos};
use crate::logic::limiter::{Algorithm, Limiter, Verdict};

/// Arrivals that a page gets one by one, so that it can run them again.
pub const RERUN_MAX: usize = 5_000;
/// Arrivals that are kept one by one, so that each client's state can be followed.
pub const KEPT_MAX: usize = 20_000;
/// Clients that have bars of their own while arrivals come in.
const CANDIDATES: usize = 16;
/// A newcomer needs this many more arrivals than the quietest candidate to take its place,
/// so that equals do not keep throwing each other out.
const LEAD_MIN: u32 = 16;

/// Bars of each algorithm.
type Bars = [Vec<Bar>; ALGORITHMS];

/// A figure in the making.
pub struct Sketch {
    limit: Limit,
    limiters: [Box<dyn Limiter>; ALGORITHMS],
    kept: Vec<Asked>,
    asked: u64,
    first: Nanos,
    last: Nanos,
    last_served: Nanos,
    numbers: [Numbers; ALGORITHMS],
    clients: Vec<Client>,
    /// The width of all bars.
    width: Nanos,
    /// Arrivals from then on need wider bars.
    fits_until: Option<Nanos>,
    everybody: Bars,
    candidates: Vec<Candidate>,
}

/// What is known of each client.
#[derive(Clone, Copy, Debug, Default)]
struct Client {
    asked: u32,
    /// By which algorithms it was refused, a bit for each.
    refused_by: u16,
}

/// A client that may turn out to be among the noisiest.
#[derive(Clone, Debug)]
struct Candidate {
    client: u32,
    /// Its arrivals before it became one: they are not in its bars.
    missed: u32,
    bars: Bars,
    levels: [Levels; ALGORITHMS],
}

impl Sketch {
    /// Nothing has arrived.
    pub fn new(limit: &Limit) -> Self {
        Self {
            limit: limit.clone(),
            limiters: Algorithm::ALL.map(|algorithm| algorithm.start(limit)),
            kept: Vec::new(),
            asked: 0,
            first: 0,
            last: 0,
            last_served: 0,
            numbers: [Numbers::default(); ALGORITHMS],
            clients: Vec::new(),
            width: bins::WIDTHS[0],
            fits_until: None,
            everybody: Bars::default(),
            candidates: Vec::new(),
        }
    }

    /// One arrival, not before the last one.
    pub fn add(&mut self, at: Nanos, client: u32) {
        if self.asked == 0 {
            self.first = at;
            self.last = at;
            self.fits_until = bins::end(at, self.width);
        }
        self.asked += 1;
        if self.kept.len() <= KEPT_MAX {
            self.kept.push(Asked { at, client });
        }
        self.fit_bars(at);
        self.pass_bars(at);
        self.last = at;
        let candidate = self.candidate(client);
        let limiters = self.limiters.each_mut();
        let verdicts = &limiters.map(|limiter| limiter.decide(client, at));
        self.note_refusals(client, verdicts);
        let bar = bins::beginning(self.width, at);
        for (n, verdict) in verdicts.iter().enumerate() {
            self.numbers[n].count(at, *verdict);
            if let Verdict::Delayed(until) = verdict {
                self.last_served = self.last_served.max(*until);
            }
            bins::count(&mut self.everybody[n], bar, *verdict);
        }
        if let Some(candidate) = candidate {
            let Candidate { bars, levels, .. } = &mut self.candidates[candidate];
            for (n, verdict) in verdicts.iter().enumerate() {
                bins::count(&mut bars[n], bar, *verdict);
                let look = self.limiters[n].look(client, at);
                levels[n].see(self.width, at, look);
                levels[n].count(look, u64::from(*verdict != Verdict::Refused));
            }
        }
    }

    fn fit_bars(&mut self, at: Nanos) {
        if self.fits_until.is_none_or(|end| at < end) {
            return;
        }
        let width = bins::width(self.first, at);
        self.width = width;
        self.fits_until = bins::end(self.first, width);
        for bars in &mut self.everybody {
            bins::widen(bars, width);
        }
        for candidate in &mut self.candidates {
            for (bars, levels) in candidate.bars.iter_mut().zip(&mut candidate.levels) {
                bins::widen(bars, width);
                levels.widen(width);
            }
        }
    }

    /// Looks at the candidates when a bar begins, for each that has begun since the last
    /// arrival: what nobody asked for has its curve too.
    fn pass_bars(&mut self, at: Nanos) {
        let mut begins = bins::beginning(self.width, self.last).checked_add(self.width);
        while let Some(moment) = begins.filter(|begins| *begins <= at) {
            for candidate in 0..self.candidates.len() {
                self.look_at(candidate, moment);
            }
            begins = moment.checked_add(self.width);
        }
    }

    fn look_at(&mut self, candidate: usize, moment: Nanos) {
        let Candidate { client, levels, .. } = &mut self.candidates[candidate];
        for (levels, limiter) in levels.iter_mut().zip(&self.limiters) {
            levels.see(self.width, moment, limiter.look(*client, moment));
        }
    }

    /// Notes with the client who refused it.
    fn note_refusals(&mut self, client: u32, verdicts: &[Verdict; ALGORITHMS]) {
        let known = &mut self.clients[client as usize];
        for (n, verdict) in verdicts.iter().enumerate() {
            let bit = 1 << n;
            if *verdict == Verdict::Refused && known.refused_by & bit == 0 {
                known.refused_by |= bit;
                self.numbers[n].refused_clients += 1;
            }
        }
    }

    /// Counts an arrival of this client, the last one; its place among the candidates, if it
    /// has one or has just earned it.
    fn candidate(&mut self, client: u32) -> Option<usize> {
        let at = client as usize;
        if at >= self.clients.len() {
            self.clients.resize(at + 1, Client::default());
        }
        let asked = self.clients[at].asked.saturating_add(1);
        self.clients[at].asked = asked;
        let candidates = &mut self.candidates;
        let found = candidates.iter().position(|one| one.client == client);
        if found.is_some() {
            return found;
        }
        let newcomer = || Candidate {
            client,
            missed: asked - 1,
            bars: Bars::default(),
            levels: Algorithm::ALL.map(Levels::new),
        };
        let place = if candidates.len() < CANDIDATES {
            candidates.push(newcomer());
            candidates.len() - 1
        } else {
            let loudness = |one: &Candidate| self.clients[one.client as usize].asked;
            let (place, quietest) = candidates
                .iter()
                .map(loudness)
                .enumerate()
                .min_by_key(|&(_, asked)| asked)?;
            if asked < quietest.saturating_add(LEAD_MIN) {
                return None;
            }
            candidates[place] = newcomer();
            place
        };
        self.look_at(place, self.last);
        Some(place)
    }

    /// The figure of all that was added.
    pub fn finish(self, about: &About) -> Figure {
        if self.kept.len() <= KEPT_MAX {
            self.finish_kept(about)
        } else {
            self.finish_bars(about)
        }
    }

    /// All arrivals are there: everything is drawn from them, and exactly.
    fn finish_kept(self, about: &About) -> Figure {
        let (asked, limit) = (self.kept, self.limit);
        let view = lanes::view(
            self.first,
            self.last,
            self.last_served,
            limit.window_nanos(),
            about.moments == Moments::SinceStart,
        );
        let bar_nanos = (!lanes::fit_as_dots(&asked, view)).then_some(self.width);
        let view = bar_nanos
            .and_then(|_| lanes::close_view(self.first, self.last, view))
            .unwrap_or(view);
        let whose = match bar_nanos {
            None => lanes::of_dots(&asked),
            Some(_) => lanes::of_bars(&asked),
        };
        let row = |algorithm: Algorithm| {
            let verdicts = story::verdicts(algorithm, &limit, &asked);
            let numbers = story::numbers(&limit, &asked, &verdicts);
            let drawn = whose.iter().map(|lane| Drawn {
                marks: marks(&asked, &verdicts, lane, bar_nanos),
                state: match lane {
                    Whose::Client(client) => {
                        let own: Vec<Asked> = asked
                            .iter()
                            .copied()
                            .filter(|one| one.client == *client)
                            .collect();
                        Some(state::follow(algorithm, &limit, &own, *client, view))
                    }
                    Whose::Everybody | Whose::AllBut(_) => None,
                },
                worst: worst_in(lane, &whose, numbers.worst),
            });
            Row {
                algorithm,
                numbers,
                drawn: drawn.collect(),
            }
        };
        let clients = self.clients.iter().filter(|client| client.asked > 0);
        let others = clients.clone().count();
        let let_in = vec![Verdict::Admitted; asked.len()];
        let lane = |lane: &Whose| Lane {
            name: match lane {
                Whose::Everybody => format!("everybody, {others} clients"),
                Whose::AllBut(named) => format!("{} others", others - named.len()),
                Whose::Client(client) => words::client(&(about.name)(*client)),
            },
            whose: lane.clone(),
            asked: marks(&asked, &let_in, lane, bar_nanos),
        };
        Figure {
            command: about.command.to_owned(),
            limit: limit.clone(),
            moments: about.moments,
            asked: self.asked,
            first: self.first,
            last: self.last,
            clients: others as u64,
            from: view.0,
            to: view.1,
            lanes: whose.iter().map(lane).collect(),
            rows: Algorithm::ALL.into_iter().map(row).collect(),
            bar_nanos,
            kept: (asked.len() <= RERUN_MAX).then_some(asked),
        }
    }

    /// Too many: bars, as they were counted.
    fn finish_bars(mut self, about: &About) -> Figure {
        let loudness = |one: &Candidate| self.clients[one.client as usize].asked;
        self.candidates
            .sort_by_key(|one| (std::cmp::Reverse(loudness(one)), one.client));
        let clients = self.clients.iter().filter(|client| client.asked > 0);
        let clients = clients.count();
        let noisiest = self.candidates.iter().map(|one| one.client).collect();
        let whose = lanes::bars_for(noisiest);
        let (from, to) = lanes::bars_view(self.first, self.last);
        self.pass_bars(to);
        let candidate = |client: u32| self.candidates.iter().find(|one| one.client == client);
        let bars = |lane: &Whose, n: usize| match lane {
            Whose::Everybody | Whose::AllBut(_) => self.everybody[n].clone(),
            Whose::Client(client) => {
                let own = candidate(*client);
                own.map(|one| one.bars[n].clone()).unwrap_or_default()
            }
        };
        let state = |lane: &Whose, n: usize| match lane {
            Whose::Everybody | Whose::AllBut(_) => None,
            Whose::Client(client) => Some(candidate(*client)?.levels[n].state(self.width, to)),
        };
        let found = |algorithm| Worst::found(algorithm, about.outcomes);
        let row = |(n, algorithm)| Row {
            algorithm,
            numbers: Numbers {
                worst: found(algorithm),
                ..self.numbers[n]
            },
            drawn: whose
                .iter()
                .map(|lane| Drawn {
                    marks: Marks::Bars(bars(lane, n)),
                    state: state(lane, n),
                    worst: worst_in(lane, &whose, found(algorithm)),
                })
                .collect(),
        };
        let lane = |lane: &Whose| Lane {
            name: match lane {
                Whose::Everybody | Whose::AllBut(_) => format!("everybody, {clients} clients"),
                Whose::Client(client) => {
                    let name = words::client(&(about.name)(*client));
                    match candidate(*client).map_or(0, |one| one.missed) {
                        0 => name,
                        missed => format!("{name}, from its request {} on", missed + 1),
                    }
                }
            },
            whose: lane.clone(),
            asked: Marks::Bars(
                bars(lane, 0)
                    .into_iter()
                    .map(|bar| Bar {
                        now: bar.asked(),
                        later: 0,
                        refused: 0,
                        ..bar
                    })
                    .collect(),
            ),
        };
        Figure {
            command: about.command.to_owned(),
            limit: self.limit.clone(),
            moments: about.moments,
            asked: self.asked,
            first: self.first,
            last: self.last,
            clients: clients as u64,
            from,
            to,
            kept: None,
            lanes: whose.iter().map(lane).collect(),
            bar_nanos: Some(self.width),
            rows: Algorithm::ALL.into_iter().enumerate().map(row).collect(),
        }
    }
}

/// One lane's arrivals with these verdicts.
fn marks(asked: &[Asked], verdicts: &[Verdict], lane: &Whose, bar_nanos: Option<Nanos>) -> Marks {
    let own = asked
        .iter()
        .zip(verdicts)
        .filter(|(one, _)| lane.holds(one.client));
    match bar_nanos {
        None => Marks::Dots(
            own.map(|(one, verdict)| Dot {
                at: one.at,
                verdict: *verdict,
            })
            .collect(),
        ),
        Some(width) => {
            let mut bars = Vec::new();
            for (one, verdict) in own {
                bins::count(&mut bars, bins::beginning(width, one.at), *verdict);
            }
            Marks::Bars(bars)
        }
    }
}

/// Is the fullest window to be seen in this lane? In the client's own, else in the first
/// that holds the client.
fn worst_in(lane: &Whose, lanes: &[Whose], worst: Option<Worst>) -> Option<Worst> {
    let worst = worst?;
    let own = lanes
        .iter()
        .find(|lane| **lane == Whose::Client(worst.client));
    let shown = own.or_else(|| lanes.iter().find(|lane| lane.holds(worst.client)))?;
    (shown == lane).then_some(worst)
}
