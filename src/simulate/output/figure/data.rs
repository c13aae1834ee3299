//! What a page needs to draw the picture again: the same sizes and places that it was drawn
//! with here, so that nothing of that is written down twice.

use serde_json::{Value, json};

use super::layout::{self, Layout, Size};
use super::{Figure, Marks, curve, lanes::Whose, live, state};

/// Whose each lane is.
pub(in crate::simulate::output) fn lanes(figure: &Figure) -> Vec<Value> {
    let lane = |lane: &super::Lane| {
        json!({
            "name": lane.name,
            "client": match lane.whose {
                Whose::Client(client) => Some(client),
                Whose::Everybody | Whose::AllBut(_) => None,
            },
            "allBut": match &lane.whose {
                Whose::AllBut(others) => others.clone(),
                Whose::Everybody | Whose::Client(_) => Vec::new(),
            },
        })
    };
    figure.lanes.iter().map(lane).collect()
}

/// The first lane's bars of each row, where they cannot be counted again: the moments they
/// begin at, and three counts for each.
pub(in crate::simulate::output) fn bars(figure: &Figure) -> Option<Vec<Value>> {
    if figure.kept.is_some() {
        return None;
    }
    let row = |row: &super::Row| match row.drawn.first().map(|drawn| &drawn.marks) {
        Some(Marks::Bars(bars)) => bars
            .iter()
            .map(|bar| json!([bar.from.to_string(), bar.now, bar.later, bar.refused]))
            .collect(),
        Some(Marks::Dots(_)) | None => Value::Null,
    };
    Some(figure.rows.iter().map(row).collect())
}

/// Where everything is in one of the two sizes.
pub(in crate::simulate::output) fn layout(figure: &Figure, size: Size) -> Value {
    let layout = Layout::new(figure, size);
    let frames: Vec<Value> = layout
        .frames
        .iter()
        .map(|frame| {
            json!({
                "nameEnd": frame.name_end,
                "bracket": frame.bracket,
                "dotsTop": frame.dots_top,
                "dotsBottom": frame.dots_bottom,
                "curveTop": frame.curve_top,
                "curveBottom": frame.curve_bottom,
                "labels": frame.labels,
            })
        })
        .collect();
    json!({
        "width": layout.width,
        "margin": layout.margin,
        "left": layout.left,
        "right": layout.right,
        "frames": frames,
    })
}

/// What is the same in both.
pub(in crate::simulate::output) fn sizes() -> Value {
    json!({
        "radius": layout::RADIUS,
        "pitch": layout::PITCH,
        "apart": layout::APART,
        "barWidthMin": layout::BAR_WIDTH_MIN,
        "barGapFrom": layout::BAR_GAP_FROM,
        "barHeightMin": live::BAR_HEIGHT_MIN,
        "edgesApartMin": live::EDGES_APART_MIN,
        "letterWidth": live::LETTER_WIDTH,
        "labelLetterWidth": layout::LABEL_LETTER_WIDTH,
        "notchWidth": curve::NOTCH_WIDTH,
        "bracketWidthMin": live::BRACKET_WIDTH_MIN,
        "samples": state::SAMPLES,
        "windowsMax": state::WINDOWS_MAX,
    })
}
