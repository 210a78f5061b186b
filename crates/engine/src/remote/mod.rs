//! A mayi server, seen from those who use it: hooks, the gateway, the command line, embedders.

pub mod wire;
