//! Identity: the credentials that mayi itself needs, for a model's API and for a mayi server.
//!
//! Whoever needs one asks here and nowhere else. No secret is ever printable: not in logs, errors, traces or arguments.
