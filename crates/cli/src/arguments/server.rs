//! The arguments of `mayi serve`, `mayi token` and `mayi approvals`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use mayi_core::policy::Layer;
use mayi_server::principal::Role;

const SERVE_EXAMPLES: &str = "\
Try:
  mayi serve
  mayi serve --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem --url https://mayi.example.com
  mayi serve --listen 10.0.0.5:7878 --behind-proxy --url https://mayi.example.com --store postgres://…";

#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct Serve {
    /// Where to listen; beyond this machine only with TLS or --behind-proxy [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) store: Kept,
    /// A certificate and those above it, in PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// A proxy in front speaks TLS; its x-forwarded-host, -proto and -for are believed
    #[arg(long)]
    pub(crate) behind_proxy: bool,
    /// Where people reach it, if that is not where it listens
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// A further name that it answers to; requests for others are refused
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// The working directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Where a server keeps its state.
#[derive(Debug, Args)]
pub(crate) struct Kept {
    /// Where the state is kept: sqlite:PATH or postgres://… [default: a file among mayi's own state]
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,
    /// Settings for this run only: a file, or JSON
    #[arg(long, value_name = "FILE or JSON")]
    pub(crate) settings: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Token {
    #[command(subcommand)]
    pub(crate) task: TokenTask,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenTask {
    /// Make a token; it is shown this once
    Create {
        /// What it is for: an agent asks, an approver answers, an auditor reads, an admin governs
        #[arg(long, value_parser = role_names())]
        role: Role,
        /// What it is called in lists and records
        #[arg(long)]
        name: String,
        /// After how many days it stops working; never by default
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(1..=3650))]
        expires: Option<u64>,
        #[command(flatten)]
        manner: TokenManner,
    },
    /// Every token, without the tokens themselves
    List {
        #[command(flatten)]
        manner: TokenManner,
    },
    /// Revoke a token: it works no more, on every server
    Revoke {
        /// Its id, as `mayi token list` shows it
        id: String,
        #[command(flatten)]
        manner: TokenManner,
    },
    /// Make a link that signs a person in to the page, once, within ten minutes
    SignIn {
        /// What they may do
        #[arg(long, default_value = "admin", value_parser = role_names())]
        role: Role,
        /// What they are called in records
        #[arg(long, default_value = "admin")]
        name: String,
        /// Where they reach the server
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        #[command(flatten)]
        manner: TokenManner,
    },
}

/// What all of them have in common.
#[derive(Debug, Args)]
pub(crate) struct TokenManner {
    #[command(flatten)]
    pub(crate) store: Kept,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const APPROVALS_EXAMPLES: &str = "\
Try:
  mayi approvals
  mayi approvals show ap_1f…
  mayi approvals deny ap_1f… --comment 'use the vendored one'
  mayi approvals allow ap_1f… --always 'Bash(npm test:*)' --layer user";

#[derive(Debug, Args)]
#[command(after_help = APPROVALS_EXAMPLES)]
pub(crate) struct Approvals {
    /// Without one, on a terminal: shows each question and takes its answer
    #[command(subcommand)]
    pub(crate) task: Option<ApprovalTask>,
    /// The server, if it is not the one that settings name
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<String>,
    /// Settings for this run only: a file, or JSON
    #[arg(long, value_name = "FILE or JSON", global = true)]
    pub(crate) settings: Option<String>,
    /// Answer as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalTask {
    /// The questions that wait
    List {
        /// Those that no longer wait, too
        #[arg(long)]
        all: bool,
    },
    /// One question, with everything that is known of it
    Show {
        /// Its name
        id: String,
    },
    /// Let a call pass
    Allow {
        /// The question's name
        id: String,
        /// What the agent is told
        #[arg(long)]
        comment: Option<String>,
        /// Let what this offered rule names pass for the rest of the session
        #[arg(long, value_name = "RULE", conflicts_with = "always")]
        session: Option<String>,
        /// Write this offered rule to settings
        #[arg(long, value_name = "RULE", requires = "layer")]
        always: Option<String>,
        /// Which settings
        #[arg(long, value_name = "LAYER", requires = "always", value_parser = layer_names())]
        layer: Option<Layer>,
    },
    /// Refuse a call
    Deny {
        /// The question's name
        id: String,
        /// What the agent is told
        #[arg(long)]
        comment: Option<String>,
    },
    /// Show each question as it comes, and take its answer
    Watch,
}

/// Reads the name of a layer that answers are written to.
fn layer_names() -> impl TypedValueParser<Value = Layer> {
    const WRITTEN: [Layer; 3] = [Layer::Local, Layer::Project, Layer::User];
    PossibleValuesParser::new(WRITTEN.map(Layer::word))
        .try_map(|word| WRITTEN.into_iter().find(|layer| layer.word() == word).ok_or("there is no such layer"))
}

/// Reads the name of a role.
fn role_names() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::word))
        .try_map(|word| Role::ALL.into_iter().find(|role| role.word() == word).ok_or("there is no such role"))
}
