//! An access log as arrivals: lines are recognised, told apart into good, bad and none of
//! ours, filtered, put in order and given out as they are read. Never keeps a line; a bad
//! one is counted, and the first few are kept to be shown, but none is fatal.

mod caddy;
mod common;
mod gateway;

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

use super::filter::Filter;
use super::lines::{LINE_BYTES_MAX, Line, Lines};
use super::names::{Names, TEXT_MAX, Who};
use super::reorder::{Entry, Reorder};
use super::spread::Spread;
use super::time::{CommonStamps, NANOS_PER_SECOND, Stamp};
use super::told::{BadLine, Told};
use super::{Arrival, InputError, Progress};
use crate::logic::bucket::Nanos;
use crate::logic::printable::printable;

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// How a compressed file begins (RFC 1952, 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// A request so much later than all before it, or the first of all, waits for the next one:
/// where that is as much earlier again, a clock was wrong, and the rest of the log is not to
/// be late for it.
const LEAP: Nanos = 3_600 * NANOS_PER_SECOND;
/// Lines between two looks at how far it is: a few milliseconds of work.
const LINES_PER_LOOK: u64 = 16_384;

/// Which log, and what of it.
#[derive(Clone, Debug)]
pub struct Log {
    /// None is standard input.
    pub file: Option<PathBuf>,
    /// How much later than its moment a request may stand in the log, 60 s by default.
    /// What comes later is counted and left out.
    pub reorder: Nanos,
    /// Bits of an IPv6 address that make one client.
    pub ipv6_prefix: u8,
    /// What of it.
    pub filter: Filter,
}

/// How the lines of a log are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Caddy's JSON access log.
    Caddy,
    /// The gateway's own JSON log.
    Gateway,
    /// The common and combined formats of Apache and nginx.
    Common,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Caddy => "Caddy's JSON log",
            Self::Gateway => "kidoban's JSON log",
            Self::Common => "common or combined log",
        })
    }
}

/// What a good line says.
enum Said<'a> {
    /// Somebody asked for something.
    Request(Request<'a>),
    /// Something else, or what never reaches a bucket.
    Other,
    /// So many requests that have no line.
    Unlogged(u64),
}

struct Request<'a> {
    /// When it arrived.
    at: Nanos,
    /// The moment is only known to the second.
    whole: bool,
    client: Cow<'a, str>,
    path: Cow<'a, [u8]>,
}

/// What a line says, or why it cannot be read.
type Parsed<'a> = Result<Said<'a>, &'static str>;

/// When what ended then and took so long began. Where no more than the second of its end
/// is known, it is the most likely second, counted from the middle of that one.
fn begin(end: Stamp, took: Nanos) -> Nanos {
    if !end.whole {
        return end.at.saturating_sub(took);
    }
    let at = end
        .at
        .saturating_add(NANOS_PER_SECOND / 2)
        .saturating_sub(took);
    at - at % NANOS_PER_SECOND
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Reads a whole log. `watch` hears now and then how far it is, `each` every arrival, in
/// order of time.
///
/// # Errors
/// The file cannot be read, or nothing in it is a request that the filter lets through.
pub fn read(
    log: &Log,
    watch: &mut dyn FnMut(Progress),
    each: &mut dyn FnMut(Arrival),
) -> Result<Told, InputError> {
    let file = log.file.as_deref();
    let name = || {
        file.map_or("standard input".to_owned(), |file| {
            printable(&file.display().to_string()).into_owned()
        })
    };
    let (source, size): (Box<dyn Read>, _) = match file {
        None => (Box::new(io::stdin().lock()), None),
        Some(file) => open(file)
            .map(|(file, size)| (Box::new(file) as Box<dyn Read>, size))
            .map_err(|why| InputError::Unreadable(name(), why))?,
    };
    let told = read_from(source, size, log, watch, each).map_err(|why| match why {
        Stop::Io(why) => InputError::Unreadable(name(), why),
        Stop::TooManyClients(why) => InputError::TooManyClients(name(), why),
    })?;
    if told.arrivals == 0 {
        return Err(InputError::Nothing(name(), Box::new(told)));
    }
    Ok(told)
}

/// The file and its size; none of a pipe or the like.
fn open(path: &Path) -> io::Result<(File, Option<u64>)> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    Ok((file, about.is_file().then_some(about.len())))
}

/// Why reading stopped before the end.
enum Stop {
    Io(io::Error),
    TooManyClients(super::names::TooMany),
}

impl From<io::Error> for Stop {
    fn from(why: io::Error) -> Self {
        Self::Io(why)
    }
}

impl From<super::names::TooMany> for Stop {
    fn from(why: super::names::TooMany) -> Self {
        Self::TooManyClients(why)
    }
}

fn read_from(
    source: Box<dyn Read>,
    size: Option<u64>,
    log: &Log,
    watch: &mut dyn FnMut(Progress),
    each: &mut dyn FnMut(Arrival),
) -> Result<Told, Stop> {
    let read = Rc::new(Cell::new(0));
    let mut lines = Lines::new(unpacked(Counted {
        source,
        read: Rc::clone(&read),
    })?);
    let mut reading = Reading::new(log, each);
    let mut numbered: u64 = 0;
    while let Some(line) = lines.next()? {
        numbered += 1;
        reading.line(numbered, line)?;
        if numbered.is_multiple_of(LINES_PER_LOOK) {
            watch(Progress {
                lines: numbered,
                bytes: read.get(),
                of_bytes: size,
            });
        }
    }
    reading.finish()
}

/// Takes gzip off, where there is any.
fn unpacked(mut source: Counted) -> io::Result<Box<dyn Read>> {
    let mut magic = Vec::with_capacity(GZIP_MAGIC.len());
    Read::by_ref(&mut source)
        .take(GZIP_MAGIC.len() as u64)
        .read_to_end(&mut magic)?;
    let is_gzip = magic == GZIP_MAGIC;
    let whole = io::Cursor::new(magic).chain(source);
    Ok(if is_gzip {
        Box::new(MultiGzDecoder::new(whole))
    } else {
        Box::new(whole)
    })
}

/// What some editors put before the first line, and no format knows.
fn without_mark(number: u64, line: &[u8]) -> &[u8] {
    match line.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) if number == 1 => rest,
        Some(_) | None => line,
    }
}

/// A source that knows how much was read of it.
struct Counted {
    source: Box<dyn Read>,
    read: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.source.read(buffer)?;
        self.read.set(self.read.get() + bytes as u64);
        Ok(bytes)
    }
}

/// Where one log's lines go through.
struct Reading<'a> {
    log: &'a Log,
    format: Option<Format>,
    stamps: CommonStamps,
    told: Told,
    /// The latest arrival so far.
    newest: Option<Nanos>,
    leap: Option<Leap>,
    /// Arrivals of which no more than the second is known.
    whole: u64,
    reorder: Reorder,
    spread: Spread,
    each: &'a mut dyn FnMut(Arrival),
}

/// A request that is a leap ahead, with its line for the case that nothing follows there.
struct Leap {
    at: Nanos,
    whole: bool,
    client: String,
    line: BadLine,
}

impl<'a> Reading<'a> {
    fn new(log: &'a Log, each: &'a mut dyn FnMut(Arrival)) -> Self {
        Self {
            log,
            format: None,
            stamps: CommonStamps::default(),
            told: Told::new(Names::new()),
            newest: None,
            leap: None,
            whole: 0,
            reorder: Reorder::new(log.reorder),
            spread: Spread::new(),
            each,
        }
    }

    fn line(&mut self, number: u64, line: Line<'_>) -> Result<(), Stop> {
        let line = match line {
            Line::Whole(line) => without_mark(number, line),
            Line::TooLong(line) => {
                const { assert!(LINE_BYTES_MAX == 64 * 1024, "the sentence says so") };
                self.told.lines += 1;
                self.told
                    .bad(BadLine::new(number, line, "it is longer than 64 KiB"));
                return Ok(());
            }
        };
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        self.told.lines += 1;
        match self.parse(line) {
            Err(why) => self.told.bad(BadLine::new(number, line, why)),
            Ok(Said::Other) => self.told.other += 1,
            Ok(Said::Unlogged(requests)) => {
                self.told.other += 1;
                self.told.unlogged = self.told.unlogged.saturating_add(requests);
            }
            Ok(Said::Request(request)) => match fault(&request.client) {
                Some(why) => self.told.bad(BadLine::new(number, line, why)),
                None => self.request(&request, number, line)?,
            },
        }
        Ok(())
    }

    /// By the format of the first line that told of a request, or any that fits.
    fn parse<'line>(&mut self, line: &'line [u8]) -> Parsed<'line> {
        match self.format {
            Some(Format::Common) => common::parse(line, &mut self.stamps),
            Some(Format::Caddy) => caddy::parse(line),
            Some(Format::Gateway) => gateway::parse(line),
            None => {
                let (format, said) = recognise(line, &mut self.stamps);
                if let Ok(Said::Request(_)) = said {
                    self.format = Some(format);
                }
                said
            }
        }
    }

    fn request(&mut self, request: &Request<'_>, number: u64, line: &[u8]) -> Result<(), Stop> {
        let prefix = self.log.ipv6_prefix;
        let filter = &self.log.filter;
        if !filter.passes(request.at, &request.client, &request.path, prefix) {
            self.told.filtered += 1;
            return Ok(());
        }
        if let Some(leap) = self.leap.take() {
            let ahead = leap.at.saturating_sub(request.at);
            if ahead > LEAP.max(self.log.reorder) {
                self.told.bad(leap.line);
            } else {
                self.arrived(leap.at, &leap.client, leap.whole)?;
            }
        }
        if self.reorder.is_late(request.at) {
            self.told.late += 1;
            return Ok(());
        }
        let before = self.newest;
        if before.is_none_or(|newest| request.at > newest.saturating_add(LEAP)) {
            let why = "its time is far ahead of the lines around it";
            self.leap = Some(Leap {
                at: request.at,
                whole: request.whole,
                client: request.client.clone().into_owned(),
                line: BadLine::new(number, line, why),
            });
            return Ok(());
        }
        self.arrived(request.at, &request.client, request.whole)
    }

    /// Not late.
    fn arrived(&mut self, at: Nanos, client: &str, whole: bool) -> Result<(), Stop> {
        let who = Who::read(client, self.log.ipv6_prefix);
        let client = self.told.names.number(who)?;
        self.newest = self.newest.max(Some(at));
        self.told.arrivals += 1;
        self.whole += u64::from(whole);
        let entry = Entry { at, client, whole };
        self.reorder.push(entry, &mut |entry| {
            self.spread.push(entry, &mut |at, client| {
                (self.each)(Arrival { at, client });
            });
        });
        Ok(())
    }

    fn finish(mut self) -> Result<Told, Stop> {
        if let Some(leap) = self.leap.take() {
            self.arrived(leap.at, &leap.client, leap.whole)?;
        }
        let mut give = |at, client| (self.each)(Arrival { at, client });
        self.reorder
            .finish(&mut |entry| self.spread.push(entry, &mut give));
        self.spread.finish(&mut give);
        self.told.format = self.format;
        self.told.whole_seconds = self.whole * 2 > self.told.arrivals;
        Ok(self.told)
    }
}

/// What is wrong with the text of a client.
fn fault(client: &str) -> Option<&'static str> {
    if client == "-" {
        Some("it does not say who asked")
    } else if client.len() > TEXT_MAX {
        Some("its client is longer than any name")
    } else {
        None
    }
}

/// Tries one after the other. A line of JSON that tells of no request may be of either log.
fn recognise<'a>(line: &'a [u8], stamps: &mut CommonStamps) -> (Format, Parsed<'a>) {
    if !line.starts_with(b"{") {
        return (Format::Common, common::parse(line, stamps));
    }
    let gateway = gateway::parse(line);
    if matches!(gateway, Ok(Said::Request(_) | Said::Unlogged(_))) {
        return (Format::Gateway, gateway);
    }
    match (gateway, caddy::parse(line)) {
        // Of the gateway's log, and with a fault: Caddy's lines are none of the gateway's.
        (Err(why), Ok(Said::Other)) if why != gateway::NOT_MINE => (Format::Gateway, Err(why)),
        (_, caddy) => (Format::Caddy, caddy),
    }
}

#[cfg(test)]
mod tests;
