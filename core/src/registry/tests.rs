//! Stories, each about one clause.
