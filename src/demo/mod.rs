//! The built-in engine and page: a game to play at once.
