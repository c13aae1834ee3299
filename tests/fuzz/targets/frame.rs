//! Lines out of bytes: in whatever pieces they come, the lines are the same; and nothing
//! longer than its limit is kept.
#![no_main]

use kidoban::logic::frame::{CutLines, Lines};
use libfuzzer_sys::fuzz_target;

const LINE_BYTES_MAX: usize = 64;

/// The lines until the first that is too long.
fn lines(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut lines = Lines::new(LINE_BYTES_MAX);
    let mut found = Vec::new();
    for piece in pieces {
        lines.buffer().extend_from_slice(piece);
        loop {
            match lines.next_line() {
                Ok(Some(line)) => {
                    assert!(line.len() <= LINE_BYTES_MAX);
                    found.push(line.to_vec());
                }
                Ok(None) => break,
                Err(_) => return found,
            }
        }
    }
    found
}

fuzz_target!(|data: &[u8]| {
    let Some((cut, bytes)) = data.split_first() else {
        return;
    };
    let at = usize::from(*cut).min(bytes.len());
    let (first, second) = bytes.split_at(at);
    assert_eq!(lines(&[bytes]), lines(&[first, second]));
    let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(lines(&[bytes]), lines(&one_by_one));

    let mut cut_lines = CutLines::new(LINE_BYTES_MAX);
    let mut told = 0;
    let mut each = |line: &[u8], cut_off: usize| {
        assert!(line.len() <= LINE_BYTES_MAX);
        told += line.len() + cut_off;
    };
    cut_lines.push(first, &mut each);
    cut_lines.push(second, &mut each);
    cut_lines.finish(&mut each);
    assert!(told <= bytes.len());
});
