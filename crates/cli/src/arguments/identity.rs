//! The arguments of `mayi login`, `mayi logout` and `mayi whoami`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Login {
    /// Keep an API key instead, read from standard input or typed unseen
    #[arg(long, conflicts_with_all = ["device", "issuer"])]
    pub(crate) api_key: bool,
    /// Who the key is for; by default the model's API in your settings
    #[arg(long = "for", value_name = "WHOM", requires = "api_key")]
    pub(crate) whom: Option<Whom>,
    /// Sign in by a code that is typed on another device
    #[arg(long)]
    pub(crate) device: bool,
    /// The sign-in service, if it is not the one in your settings
    #[arg(long, value_name = "URL")]
    pub(crate) issuer: Option<String>,
    /// Only print the address, and open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
    #[command(flatten)]
    pub(crate) manner: Manner,
    // Taken so that a key among the arguments can be refused without repeating it.
    #[arg(hide = true)]
    pub(crate) stray: Vec<String>,
}

/// Who an API key is for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Whom {
    Anthropic,
    Openai,
    Server,
}

#[derive(Debug, Args)]
pub(crate) struct Logout {
    #[command(flatten)]
    pub(crate) manner: Manner,
}

#[derive(Debug, Args)]
pub(crate) struct Whoami {
    #[command(flatten)]
    pub(crate) manner: Manner,
}

/// What the three have in common.
#[derive(Debug, Args)]
pub(crate) struct Manner {
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Settings for this run only: a file, or JSON
    #[arg(long, value_name = "FILE or JSON")]
    pub(crate) settings: Option<String>,
}
