//! The points of a level's curve, in pixels: no more of them than can be seen, and none of
//! what can be seen lost. `page/draw.js` does the same.

/// A level that falls and is back at once is seen to fall: so wide is the gap.
pub(super) const NOTCH_WIDTH: f64 = 5.0;

/// As few points as look the same.
pub(super) fn simplified(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    straightened(&notched(&thinned(points)))
}

/// Of the points in one column of pixels the first, the lowest, the highest and the last.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept = Vec::new();
    let same_column = |a: &(f64, f64), b: &(f64, f64)| a.0.floor().total_cmp(&b.0.floor()).is_eq();
    for column in points.chunk_by(same_column) {
        let mut least = 0;
        let mut most = 0;
        for (n, point) in column.iter().enumerate() {
            if point.1 < column[least].1 {
                least = n;
            }
            if point.1 > column[most].1 {
                most = n;
            }
        }
        let mut corners = [0, least, most, column.len() - 1];
        corners.sort_unstable();
        for (n, corner) in corners.iter().enumerate() {
            if n == 0 || corners[n - 1] != *corner {
                kept.push(column[*corner]);
            }
        }
    }
    kept
}

/// With a gap where a level falls and is back at the same moment: a count that starts again
/// at an edge, and is full again at once.
fn notched(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (n, point) in points.iter().enumerate() {
        if let (Some(before), Some(after)) = (kept.last().copied(), points.get(n + 1)) {
            let is_lowest = point.1 > before.1 + NOTCH_WIDTH && point.1 > after.1 + NOTCH_WIDTH;
            let begin = point.0 - NOTCH_WIDTH;
            if is_lowest && after.0 - before.0 < NOTCH_WIDTH {
                while kept.last().is_some_and(|last| last.0 > begin) {
                    kept.pop();
                }
                kept.extend([(begin, before.1), (begin, point.1)]);
            }
        }
        kept.push(*point);
    }
    kept
}

/// Without the points that lie on the line between their neighbours.
fn straightened(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (n, point) in points.iter().enumerate() {
        let (Some(before), Some(after)) = (kept.last(), points.get(n + 1)) else {
            kept.push(*point);
            continue;
        };
        let (across, down) = (after.0 - before.0, after.1 - before.1);
        let bend = (point.0 - before.0) * down - (point.1 - before.1) * across;
        if bend.abs() > 0.1 * (across.abs() + down.abs()) {
            kept.push(*point);
        }
    }
    kept
}
