//! `mayi serve` with real parts: PostgreSQL, a browser, processes that are killed, clients that misbehave; all on loopback.
//!
//! `cargo xtask server` installs the parts and runs the tests of this crate. What a test knows of mayi is what a person
//! or a client sees: what it prints, its exit codes, its answers; and what the database holds.
