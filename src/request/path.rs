//! Where the path of a request leads. Knows paths only: no method, no file.

use crate::logic::shape::Route;

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// A turn's, of either kind.
    Turn(Route),
    /// `/api/health`
    Health,
    /// Nothing, under `/api`.
    UnknownApi,
    /// A static file, if there is one.
    Elsewhere,
}

impl Path {
    /// Every path leads somewhere.
    pub fn of(path: &str) -> Self {
        match path {
            "/api/turn" => Self::Turn(Route::Turn),
            "/api/new" => Self::Turn(Route::New),
            "/api/health" => Self::Health,
            "/api" => Self::UnknownApi,
            _ if path.starts_with("/api/") => Self::UnknownApi,
            _ => Self::Elsewhere,
        }
    }

    /// What stands in the log: a known path, or `other`.
    pub fn logged(self) -> &'static str {
        match self {
            Self::Turn(Route::Turn) => "/api/turn",
            Self::Turn(Route::New) => "/api/new",
            Self::Health => "/api/health",
            Self::UnknownApi | Self::Elsewhere => "other",
        }
    }

    /// Does the answer follow the rules of `/api/`?
    pub fn is_api(self) -> bool {
        self != Self::Elsewhere
    }
}
