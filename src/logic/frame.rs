//! Lines out of bytes, bounded: replies of an engine, and what it says on
//! stderr.
//!
//! Bytes come in pieces of any size; the same stream gives the same lines
//! however it was cut. Nothing here reads, waits or decodes, and no line may
//! ever grow beyond its limit.

use bytes::{Bytes, BytesMut};

/// Collects bytes and gives out whole lines, bounded.
///
/// A reader appends to [`buffer`](Lines::buffer), then takes lines until there
/// is none. No byte is searched twice. A reader that takes all lines after each
/// read never holds more than one line's limit and one read.
#[derive(Debug)]
pub struct Lines {
    buffer: BytesMut,
    /// So many bytes at the front of `buffer` are known to hold no `\n`.
    searched_bytes: usize,
    line_bytes_max: usize,
}

/// A line is longer than the limit it was given. The stream cannot be followed
/// from here: the same answer is given again until the buffer is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line is longer than {line_bytes_max} bytes")]
pub struct TooLong {
    /// The limit that was passed, in bytes, line end not counted.
    pub line_bytes_max: usize,
}

impl Lines {
    /// Lines of at most `line_bytes_max` bytes, the line end not counted.
    pub fn new(line_bytes_max: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched_bytes: 0,
            line_bytes_max,
        }
    }

    /// What a reader appends to. Only append: what stands there already is
    /// partly searched.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The next whole line, without its `\n` and without one `\r` before that;
    /// `None` while it is not there in full.
    ///
    /// Fails with [`TooLong`] as soon as the line cannot fit any more, also
    /// when its end was not seen.
    pub fn next_line(&mut self) -> Result<Option<Bytes>, TooLong> {
        // The longest line, a `\r` and the `\n`: further on is not looked.
        let window_bytes = self.line_bytes_max.saturating_add(2).min(self.buffer.len());
        let from = self.searched_bytes.min(window_bytes);
        let found = self.buffer[from..window_bytes]
            .iter()
            .position(|byte| *byte == b'\n');
        let Some(offset) = found else {
            self.searched_bytes = window_bytes;
            // A `\r` in the last place may yet turn out to be a line end's.
            return self
                .fits(window_bytes - self.ends_in_cr(window_bytes))
                .map(|()| None);
        };
        let end = from + offset;
        let line_bytes = end - self.ends_in_cr(end);
        self.fits(line_bytes)?;
        let mut line = self.buffer.split_to(end + 1);
        line.truncate(line_bytes);
        self.searched_bytes = 0;
        Ok(Some(line.freeze()))
    }

    /// No byte is left over: the stream may end here.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// 1 if the first `end` bytes end in `\r`, else 0.
    fn ends_in_cr(&self, end: usize) -> usize {
        usize::from(self.buffer[..end].last() == Some(&b'\r'))
    }

    fn fits(&self, line_bytes: usize) -> Result<(), TooLong> {
        if line_bytes > self.line_bytes_max {
            return Err(TooLong {
                line_bytes_max: self.line_bytes_max,
            });
        }
        Ok(())
    }
}

/// Lines for a log: cut at a length, the rest of a long line thrown away,
/// nothing kept beyond the cut.
///
/// The line end is `\n`, or `\r\n`; it is neither given out nor counted.
#[derive(Debug)]
pub struct CutLines {
    /// The front of the line at hand, never longer than `cut_bytes`.
    kept: Vec<u8>,
    /// Bytes of the line at hand that were thrown away.
    dropped_bytes: usize,
    /// The last byte of the line at hand, kept or not, is a `\r`.
    ends_in_cr: bool,
    cut_bytes: usize,
}

impl CutLines {
    /// Lines cut after `cut_bytes` bytes. That much memory is taken at once,
    /// and never more.
    pub fn new(cut_bytes: usize) -> Self {
        Self {
            kept: Vec::with_capacity(cut_bytes),
            dropped_bytes: 0,
            ends_in_cr: false,
            cut_bytes,
        }
    }

    /// Takes the next bytes of the stream. `each` is called for every line that
    /// ends in them: the line as far as it was kept, and how many of its bytes
    /// were cut off.
    pub fn push(&mut self, chunk: &[u8], each: &mut dyn FnMut(&[u8], usize)) {
        let mut pieces = chunk.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            self.keep(piece);
            if pieces.peek().is_some() {
                self.end_line(each);
            }
        }
    }

    /// The stream has ended: gives out a last line that had no line end, if
    /// there is one.
    pub fn finish(&mut self, each: &mut dyn FnMut(&[u8], usize)) {
        if self.kept.is_empty() && self.dropped_bytes == 0 {
            return;
        }
        self.ends_in_cr = false;
        self.end_line(each);
    }

    fn keep(&mut self, piece: &[u8]) {
        let room_bytes = self.cut_bytes - self.kept.len();
        let (front, rest) = piece.split_at(room_bytes.min(piece.len()));
        self.kept.extend_from_slice(front);
        self.dropped_bytes = self.dropped_bytes.saturating_add(rest.len());
        if let Some(last) = piece.last() {
            self.ends_in_cr = *last == b'\r';
        }
    }

    fn end_line(&mut self, each: &mut dyn FnMut(&[u8], usize)) {
        if self.ends_in_cr && self.dropped_bytes > 0 {
            self.dropped_bytes -= 1;
        } else if self.ends_in_cr {
            self.kept.pop();
        }
        each(&self.kept, self.dropped_bytes);
        self.kept.clear();
        self.dropped_bytes = 0;
        self.ends_in_cr = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All lines of a stream that arrives in these pieces, and whether the
    /// stream ended between lines.
    fn lines_of<'a>(
        pieces: impl IntoIterator<Item = &'a [u8]>,
        line_bytes_max: usize,
    ) -> Result<(Vec<Bytes>, bool), TooLong> {
        let mut lines = Lines::new(line_bytes_max);
        let mut all = Vec::new();
        for piece in pieces {
            lines.buffer().extend_from_slice(piece);
            while let Some(line) = lines.next_line()? {
                all.push(line);
            }
        }
        Ok((all, lines.is_empty()))
    }

    /// The same for [`CutLines`]: lines with the number of bytes cut off.
    fn cut_lines_of<'a>(
        pieces: impl IntoIterator<Item = &'a [u8]>,
        cut_bytes: usize,
    ) -> Vec<(Vec<u8>, usize)> {
        let mut lines = CutLines::new(cut_bytes);
        let mut all = Vec::new();
        let mut each = |line: &[u8], cut| all.push((line.to_vec(), cut));
        for piece in pieces {
            lines.push(piece, &mut each);
        }
        lines.finish(&mut each);
        all
    }

    #[test]
    fn every_split_position_gives_the_same_lines() {
        let stream = b"{\"a\":1}\n\n\r\n{\"b\":\r2}\r\nlong, the longest\r\n\r\r\nrest";
        let (whole, ended) = lines_of([&stream[..]], 17).unwrap();
        let expected = [
            "{\"a\":1}",
            "",
            "",
            "{\"b\":\r2}",
            "long, the longest",
            "\r",
        ];
        assert_eq!(whole, expected);
        assert!(!ended, "`rest` is left over");
        let cut = cut_lines_of([&stream[..]], 5);
        assert_eq!(cut.len(), expected.len() + 1);
        for at in 0..=stream.len() {
            for to in at..=stream.len() {
                let pieces = [&stream[..at], &stream[at..to], &stream[to..]];
                assert_eq!(lines_of(pieces, 17).unwrap().0, whole, "{at}, {to}");
                assert_eq!(cut_lines_of(pieces, 5), cut, "{at}, {to}");
            }
        }
    }

    #[test]
    fn the_limit_counts_without_the_line_end() {
        for max in [0, 1, 4095, 4096, 4097, 65_535, 65_536, 65_537] {
            for end in ["\n", "\r\n"] {
                let fits = format!("{}{end}", "x".repeat(max));
                let (lines, ended) = lines_of([fits.as_bytes()], max).unwrap();
                assert_eq!((lines[0].len(), ended), (max, true));
                let too_long = format!("x{fits}");
                let told = lines_of([too_long.as_bytes()], max).unwrap_err();
                assert_eq!(told.line_bytes_max, max);
            }
        }
    }

    #[test]
    fn too_long_is_told_at_the_first_byte_too_many() {
        for (fits, too_long) in [("abcd", "e"), ("abcd\r", "e"), ("abcd\r", "\r")] {
            let mut lines = Lines::new(4);
            lines.buffer().extend_from_slice(fits.as_bytes());
            assert_eq!(lines.next_line(), Ok(None), "{fits:?}");
            lines.buffer().extend_from_slice(too_long.as_bytes());
            let told = Err(TooLong { line_bytes_max: 4 });
            assert_eq!(lines.next_line(), told, "{fits:?}");
            lines.buffer().extend_from_slice(b"\nnext\n");
            assert_eq!(lines.next_line(), told, "it stays so");
        }
    }

    #[test]
    fn nothing_is_searched_twice() {
        let mut lines = Lines::new(1000);
        lines.buffer().extend_from_slice(b"abc");
        assert_eq!(lines.next_line(), Ok(None));
        // Forbidden by the doc of `buffer`; here it shows what is looked at.
        lines.buffer()[1] = b'\n';
        assert_eq!(lines.next_line(), Ok(None));
        lines.buffer().extend_from_slice(b"d\n");
        assert_eq!(lines.next_line(), Ok(Some(Bytes::from_static(b"a\ncd"))));
    }

    #[test]
    fn cut_lines_tell_what_was_cut() {
        let cases: [(&str, &[(&str, usize)]); 7] = [
            ("", &[]),
            ("\n", &[("", 0)]),
            ("abcd\n", &[("abcd", 0)]),
            ("abcd\r\nabcdef\r\n", &[("abcd", 0), ("abcd", 2)]),
            ("abcdefg", &[("abcd", 3)]),
            ("ab\r", &[("ab\r", 0)]),
            ("\r\n\r", &[("", 0), ("\r", 0)]),
        ];
        for (stream, expected) in cases {
            let told = cut_lines_of([stream.as_bytes()], 4);
            let expected: Vec<_> = expected
                .iter()
                .map(|(line, cut)| (line.as_bytes().to_vec(), *cut))
                .collect();
            assert_eq!(told, expected, "{stream:?}");
        }
        assert_eq!(cut_lines_of([&b"abc"[..]], 0), [(vec![], 3)]);
    }

    #[test]
    fn a_line_of_ten_mebibytes_keeps_no_more_than_the_cut() {
        let mut lines = CutLines::new(4096);
        let chunk = vec![b'x'; 65_536];
        for _ in 0..160 {
            lines.push(&chunk, &mut |_, _| panic!("no line has ended"));
            assert!(lines.kept.capacity() <= 4096, "{}", lines.kept.capacity());
        }
        let mut told = Vec::new();
        lines.push(b"\nnext\n", &mut |line, cut| told.push((line.len(), cut)));
        assert_eq!(told, [(4096, 10 * 1024 * 1024 - 4096), (4, 0)]);
    }

    proptest! {
        #[test]
        fn what_is_framed_comes_back(
            frames in prop::collection::vec("[^\r\n]{0,20}", 0..20),
            read_bytes in 1_usize..50,
            cr in any::<bool>(),
        ) {
            let end = if cr { "\r\n" } else { "\n" };
            let stream: String = frames.iter().flat_map(|frame| [frame, end]).collect();
            let (lines, ended) = lines_of(stream.as_bytes().chunks(read_bytes), 80).unwrap();
            prop_assert_eq!(&lines, &frames);
            prop_assert!(ended);
            let cut = cut_lines_of(stream.as_bytes().chunks(read_bytes), 80);
            prop_assert_eq!(cut.len(), frames.len());
            for ((line, cut), frame) in cut.iter().zip(&frames) {
                prop_assert_eq!((line.as_slice(), *cut), (frame.as_bytes(), 0));
            }
        }

        #[test]
        fn any_bytes_in_any_pieces_stay_bounded(
            stream in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200),
            read_bytes in 1_usize..20,
            max in 0_usize..20,
        ) {
            let whole = lines_of([stream.as_slice()], max);
            let pieces = lines_of(stream.chunks(read_bytes), max);
            prop_assert_eq!(whole, pieces);
            let whole = cut_lines_of([stream.as_slice()], max);
            prop_assert!(whole.iter().all(|(line, _)| line.len() <= max));
            prop_assert_eq!(whole, cut_lines_of(stream.chunks(read_bytes), max));
        }
    }
}
