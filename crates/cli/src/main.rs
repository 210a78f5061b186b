//! The `mayi` command line.

fn main() {}
