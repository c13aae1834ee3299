//! Lines out of a file of any size, in one buffer: nothing is allocated for a line, and a
//! line longer than a limit is told as such and passed over, never kept.

use std::io::{self, Read};

use memchr::memchr;

/// Read at once. Large enough that the system calls do not count.
const BUFFER_BYTES: usize = 256 * 1024;
/// Longest line. Caddy's lines hold all headers of a request, and its limit for them is 1 MB,
/// but other servers stop at 8 to 64 KiB, and so do people.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// The lines of a source.
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    buffer: Box<[u8]>,
    /// What was read and not yet given out.
    start: usize,
    end: usize,
    /// Up to here there is no line end.
    looked: usize,
    /// In the middle of a line that is too long.
    passing_over: bool,
}

/// One line, without its end (`\n` or `\r\n`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// The beginning of one that is longer than [`LINE_BYTES_MAX`].
    TooLong(&'a [u8]),
}

impl<R: Read> Lines<R> {
    /// Nothing read yet.
    pub fn new(source: R) -> Self {
        Self {
            source,
            buffer: vec![0; BUFFER_BYTES].into(),
            start: 0,
            end: 0,
            looked: 0,
            passing_over: false,
        }
    }

    /// The next line; the last one may lack its end. None at the end of the source.
    ///
    /// # Errors
    /// What the source said.
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            if let Some(at) = memchr(b'\n', &self.buffer[self.looked..self.end]) {
                let line = self.start..self.looked + at;
                self.start = line.end + 1;
                self.looked = self.start;
                if !std::mem::take(&mut self.passing_over) {
                    return Ok(Some(told(&self.buffer[line])));
                }
                continue;
            }
            self.looked = self.end;
            if self.passing_over {
                self.start = self.end;
            } else if self.end - self.start > LINE_BYTES_MAX + 1 {
                let line = self.start..self.end;
                self.start = self.end;
                self.passing_over = true;
                return Ok(Some(Line::TooLong(&self.buffer[line])));
            }
            if !self.fill()? {
                let line = self.start..self.end;
                self.start = self.end;
                return Ok((!line.is_empty()).then(|| told(&self.buffer[line])));
            }
        }
    }

    /// Reads on; false at the end of the source. At most a line of the limit and its `\r` stay in
    /// the buffer, so there is always room.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        self.looked = self.end;
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(bytes) => {
                    self.end += bytes;
                    return Ok(bytes > 0);
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
    }
}

fn told(line: &[u8]) -> Line<'_> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() > LINE_BYTES_MAX {
        Line::TooLong(line)
    } else {
        Line::Whole(line)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives out a few bytes at a time.
    struct Drops<'a>(&'a [u8], usize);

    impl Read for Drops<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let bytes = self.1.min(self.0.len()).min(buffer.len());
            let (now, later) = self.0.split_at(bytes);
            buffer[..bytes].copy_from_slice(now);
            self.0 = later;
            Ok(bytes)
        }
    }

    /// Each line, and whether it was whole; of long ones the length is all that is kept.
    fn lines(text: &[u8], drop: usize) -> Vec<(Vec<u8>, bool)> {
        let mut lines = Lines::new(Drops(text, drop));
        let mut told = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            told.push(match line {
                Line::Whole(line) => (line.to_owned(), true),
                Line::TooLong(line) => {
                    assert!(line.len() > LINE_BYTES_MAX);
                    (line[..8].to_owned(), false)
                }
            });
        }
        told
    }

    #[test]
    fn a_line_of_the_limit_is_whole_and_a_longer_one_is_passed_over() {
        for (bytes, whole) in [
            (LINE_BYTES_MAX, true),
            (LINE_BYTES_MAX + 1, false),
            (BUFFER_BYTES - 1, false),
            (BUFFER_BYTES, false),
            (BUFFER_BYTES + 1, false),
            (3 * BUFFER_BYTES + 7, false),
        ] {
            for end in ["\n", "\r\n", ""] {
                // With the last but one, an `\r` comes without its `\n`.
                let to_line_end = "first\n".len() + LINE_BYTES_MAX + 1;
                for drop in [1_000, LINE_BYTES_MAX, to_line_end, usize::MAX] {
                    let text = format!("first\n{}{end}", "x".repeat(bytes));
                    let after = if end.is_empty() { "" } else { "last" };
                    let told = lines(format!("{text}{after}").as_bytes(), drop);
                    let shown = if whole { bytes } else { 8 };
                    let mut expected = vec![(b"first".to_vec(), true), (vec![b'x'; shown], whole)];
                    if !after.is_empty() {
                        expected.push((b"last".to_vec(), true));
                    }
                    assert!(told == expected, "{bytes} {end:?} {drop}");
                }
            }
        }
    }

    proptest! {
        /// However the bytes come, the lines are those of the whole text.
        #[test]
        fn lines_are_what_stands_between_line_ends(
            text in "[ab\r\n]{0,60}",
            drop in 1usize..20,
        ) {
            let mut expected: Vec<_> = text
                .split('\n')
                .map(|line| (line.strip_suffix('\r').unwrap_or(line).as_bytes().to_vec(), true))
                .collect();
            if text.is_empty() || text.ends_with('\n') {
                expected.pop();
            }
            prop_assert_eq!(lines(text.as_bytes(), drop), expected);
        }
    }
}
