//! The arguments, as clap reads them. Nothing is done here.

mod auto_mode;
mod identity;
mod import;
mod run;
mod server;
mod workbench;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use mayi_agents::install::{Agent, Scope, agents};
use mayi_core::mode::Mode;
use mayi_core::verdict::Verdict;

pub(crate) use auto_mode::{AutoMode, AutoModeTask, Classifier, ClassifierTask, Eval, Explain, Lists, Since, Stats};
pub(crate) use identity::{Login, Logout, Manner, Whoami, Whom};
pub(crate) use import::Import;
pub(crate) use run::Run;
pub(crate) use server::{ApprovalTask, Approvals, Kept, Serve, Token, TokenManner, TokenTask};
pub(crate) use workbench::{
    Audit, AuditTask, Diff, Export, Query, Records, Replay, Suggest, Test, Verify, Wanted, Why,
};

/// Commands that are rarely typed take no line of the first help, only a word.
const MORE: &str = "\
More: auto-mode, classifier, explain, import, lint, logout, replay, whoami, schema,
      token, completions, --version (mayi COMMAND --help)
Try:  mayi check 'git push --force origin main'";

/// One line for each command that people type.
const FIRST_HELP: &str = "{about}\n\n{usage-heading} {usage}\n\n{subcommands}{after-help}";

const GATEWAY_EXAMPLES: &str = "\
Try:
  mayi gateway --name files -- npx -y @modelcontextprotocol/server-filesystem .
  mayi gateway --name tracker --url https://mcp.example.com/mcp --header-env Authorization=TRACKER_KEY";

/// May I? The permission engine for AI agents: allow, ask or deny, with the reason.
#[derive(Debug, Parser)]
#[command(name = "mayi", version, disable_help_subcommand = true, help_template = FIRST_HELP, after_help = MORE)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) task: Task,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Decide a call and show every step; changes nothing. Exit: 0 allow, 10 ask, 11 deny
    Check(Check),
    /// Decide a command, then run it confined: its files, hosts and system calls
    Run(Box<Run>),
    /// The rules in force: list, add, remove, lint, suggest
    Rules(Rules),
    /// Why a recorded call was decided so, and what would have turned it
    Why(Why),
    /// Run tests of the policy: calls, and what is expected of them. Exit 1 if one fails
    Test(Test),
    /// What a change of settings means, shown by calls. Exit: 0 equal, 10 narrowed, 11 widened
    Diff(Diff),
    /// Decide recorded calls again, under other settings or in another mode
    #[command(hide = true)]
    Replay(Replay),
    /// The record of decisions: query, export, verify
    Audit(Audit),
    /// What is wrong with the rules; the same as `mayi rules lint`
    #[command(hide = true)]
    Lint(Lint),
    /// The mode a session starts in: show or set it
    Mode(ModeTask),
    /// What a call does, why an agent may want it, and what could go wrong; decides nothing
    #[command(hide = true)]
    Explain(Explain),
    /// Auto mode's lists: built in, in force, and what is doubtful about them
    #[command(hide = true)]
    AutoMode(AutoMode),
    /// Auto mode measured: on labelled cases, and as it was used
    #[command(hide = true)]
    Classifier(Classifier),
    /// Trust a folder: its own allow rules and added directories count from then on
    Trust(Trust),
    /// Answer one hook message of an agent, as installed by `mayi install`
    // For agents, so it takes no line of the help that people read.
    #[command(hide = true)]
    Hook {
        /// The agent, and options: --unattended, --mode MODE, --settings FILE|JSON, --deadline SECONDS
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "AGENT")]
        words: Vec<String>,
    },
    /// Put mayi's hook into an agent's own configuration
    Install(Install),
    /// Take mayi's hook out of an agent's configuration again
    Uninstall(Uninstall),
    /// What is installed, whether it really fires, and what is wrong. Exit 1 if so
    Doctor(Doctor),
    /// Sign in, or keep an API key, for the model and the server that mayi itself asks
    Login(Login),
    /// Sign out: revoke what was given, remove what is kept
    #[command(hide = true)]
    Logout(Logout),
    /// Who is signed in, which credential is used, and where it is kept. Exit 1 without one
    #[command(hide = true)]
    Whoami(Whoami),
    /// Stand before an MCP server and decide every call of its tools
    Gateway(Gateway),
    /// Another agent's rules in ours, and what cannot be said
    #[command(hide = true)]
    Import(Import),
    /// Serve decisions, approvals and audit over HTTP, and a page for people
    Serve(Box<Serve>),
    /// Answer the questions that wait at a server: list, show, allow, deny, watch
    Approvals(Box<Approvals>),
    /// A server's tokens and sign-in links: create, list, revoke, sign-in
    #[command(hide = true)]
    Token(Token),
    /// Carry records to the server, and fetch its policy; hooks start this by themselves
    #[command(hide = true)]
    Ship(Ship),
    /// Print the JSON Schema of a settings file, for editors
    #[command(hide = true)]
    Schema,
    /// Print completions for a shell
    #[command(hide = true)]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// Where settings come from.
#[derive(Debug, Default, Args)]
pub(crate) struct Where {
    /// Settings for this run only: a file, or JSON
    #[arg(long, value_name = "FILE or JSON")]
    pub(crate) settings: Option<String>,
    /// The working directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// A directory that counts as a working directory too
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Allow rules for this run only
    #[arg(long, value_name = "RULE")]
    pub(crate) allowed_tools: Vec<String>,
    /// Deny rules for this run only
    #[arg(long, value_name = "RULE")]
    pub(crate) disallowed_tools: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The mode to decide in
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// The tool; a command alone is a Bash call
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// The tool's input
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// Nobody can be asked
    #[arg(long)]
    pub(crate) unattended: bool,
    /// Also show what each command does
    #[arg(long)]
    pub(crate) effects: bool,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Decide JSON lines from standard input, one answer a line
    // A line says everything itself, so an option that would be passed over is refused.
    #[arg(long, conflicts_with_all = ["command", "mode", "tool", "input", "unattended", "effects", "settings", "cwd", "add_dir", "allowed_tools", "disallowed_tools"])]
    pub(crate) batch: bool,
    #[command(flatten)]
    pub(crate) place: Where,
    /// The command, in one word or several
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Rules {
    #[command(subcommand)]
    pub(crate) task: RulesTask,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesTask {
    /// Every rule in force, with the file and line it came from
    List {
        /// Answer as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Where,
    },
    /// Add rules to a settings file, keeping its comments
    Add(Change),
    /// Take rules out of a settings file, keeping its comments
    Remove(Change),
    /// What is wrong with the rules: unreachable, dangerous, misspelt. Exit 1 on a warning or error
    Lint(Lint),
    /// Rules that would have saved questions, from the record of decisions; each was tried out
    Suggest(Suggest),
}

#[derive(Debug, Args)]
pub(crate) struct Lint {
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Answer as SARIF 2.1.0, for code hosts and editors
    #[arg(long, conflicts_with = "json")]
    pub(crate) sarif: bool,
    /// Mend what can be mended without loosening anything, keeping comments
    #[arg(long, conflicts_with_all = ["json", "sarif"])]
    pub(crate) fix: bool,
    /// With --fix: show the changes and make none
    #[arg(long, requires = "fix")]
    pub(crate) dry_run: bool,
    /// What a code means, with an example and the way to mend it
    #[arg(long, value_name = "CODE", conflicts_with_all = ["fix", "sarif"])]
    pub(crate) explain: Option<String>,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct Change {
    /// The rules, such as 'Bash(npm test:*)'
    #[arg(required = true, value_name = "RULE")]
    pub(crate) rules: Vec<String>,
    /// The list: what may run, what must be asked, what may not run
    #[arg(long, default_value = "allow", value_parser = list_names())]
    pub(crate) list: Verdict,
    /// The settings: yours here, everybody's here, or yours everywhere
    #[arg(long, value_enum, default_value = "local")]
    pub(crate) to: Destination,
    /// The working directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Reads the name of a list of rules.
fn list_names() -> impl TypedValueParser<Value = Verdict> {
    PossibleValuesParser::new(Verdict::ALL.map(Verdict::word)).map(|word| {
        // The parser has already refused every other word.
        Verdict::ALL.into_iter().find(|verdict| verdict.word() == word).unwrap_or(Verdict::Deny)
    })
}

/// A settings file that can be written.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Destination {
    Local,
    Project,
    User,
}

#[derive(Debug, Args)]
pub(crate) struct ModeTask {
    /// The mode to start in; without it, show the present one
    pub(crate) mode: Option<Mode>,
    /// The settings: yours here, everybody's here, or yours everywhere
    #[arg(long, value_enum, default_value = "local")]
    pub(crate) to: Destination,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The working directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The folder; the present one by default
    pub(crate) folder: Option<PathBuf>,
    /// Take the trust back
    #[arg(long, conflicts_with = "list")]
    pub(crate) remove: bool,
    /// Show every trusted folder
    #[arg(long)]
    pub(crate) list: bool,
    /// Show them as JSON
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Nobody can be asked: what would be asked is denied
    #[arg(long)]
    pub(crate) unattended: bool,
    /// The mode that the hook decides in, whatever the agent says
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
}

#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    pub(crate) target: Target,
}

/// Which configuration of which agent.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The agent
    #[arg(value_parser = agent_names())]
    pub(crate) agent: &'static Agent,
    /// Its configuration: yours everywhere, everybody's here, or yours here
    #[arg(long, default_value = "user", value_parser = scope_names())]
    pub(crate) scope: Scope,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The working directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Ship {
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The agent; every one that is there by default
    #[arg(value_parser = agent_names())]
    pub(crate) agent: Option<&'static Agent>,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The working directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Reads the name of an agent.
fn agent_names() -> impl TypedValueParser<Value = &'static Agent> {
    PossibleValuesParser::new(agents::ALL.iter().map(|agent| agent.name))
        .try_map(|name| agents::named(&name).ok_or("there is no such agent"))
}

/// Reads the name of a scope.
fn scope_names() -> impl TypedValueParser<Value = Scope> {
    PossibleValuesParser::new(["user", "project", "local"])
        .try_map(|word| Scope::ALL.into_iter().find(|scope| scope.to_string() == word).ok_or("there is no such scope"))
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("server").required(true).args(["command", "url"]), after_help = GATEWAY_EXAMPLES)]
pub(crate) struct Gateway {
    /// What the server is called in rules: mcp__NAME__TOOL
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The server's address, for one that speaks streamable HTTP
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// A header for the server: 'Name: value'
    #[arg(long, value_name = "HEADER", conflicts_with = "command")]
    pub(crate) header: Vec<String>,
    /// A header for the server whose value is in a variable: Name=VARIABLE
    #[arg(long, value_name = "NAME=VARIABLE", conflicts_with = "command")]
    pub(crate) header_env: Vec<String>,
    /// Serve agents over streamable HTTP at this address instead of standard input and output
    #[arg(long, value_name = "127.0.0.1:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// The path to serve agents at
    #[arg(long, value_name = "PATH", default_value = "/mcp", requires = "listen")]
    pub(crate) path: String,
    /// Nobody can be asked
    #[arg(long)]
    pub(crate) unattended: bool,
    /// The mode to decide in
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// The session that calls belong to
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) place: Where,
    /// The server's command
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
