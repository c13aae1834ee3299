//! How far the reading of a log is, on a terminal. Elsewhere it says nothing.

use indicatif::{ProgressBar, ProgressStyle};

use super::input::Progress;

/// Gone without a trace when dropped.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// On stderr, and only where that is a terminal.
    pub(super) fn new() -> Self {
        Self(ProgressBar::no_length())
    }

    pub(super) fn show(&self, progress: Progress) {
        if let Some(all) = progress.of_bytes {
            self.0.set_length(all);
            self.0.set_style(style(
                "{wide_bar} {bytes}/{total_bytes}, {msg} lines, {eta} to go",
            ));
        } else {
            self.0.set_style(style("{spinner} {bytes}, {msg} lines"));
        }
        self.0.set_position(progress.bytes);
        self.0.set_message(progress.lines.to_string());
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
