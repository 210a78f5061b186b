//! The shapes of rules that could speak for a call, widest first. Nothing here says whether one is safe.

use mayi_core::call::Call;
use mayi_core::catalogue::Kind;
use mayi_core::path;
use mayi_core::policy::{Policy, Text};
use mayi_core::rule::Rule;
use mayi_core::verdict::Verdict;
use mayi_shell::command::{Analysis, Command};
use mayi_shell::observe::Observations;
use mayi_shell::{Context, analyse};

/// The longest rule that is suggested: nobody reads a longer one.
const LONGEST: usize = 120;

/// A rule that could speak for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// The rule.
    pub(super) rule: Rule,
    /// How far it goes beyond the call at hand.
    pub(super) opens: Opens,
    /// What it would let pass, in words.
    pub(super) covers: String,
}

/// How far a rule goes beyond the call at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opens {
    /// Operands of a command.
    Operands,
    /// Files beside the one at hand, or other uses of the same tool.
    Further,
    /// Nothing.
    Nothing,
}

/// The shapes for a call. One rule can speak for one command, so a text with several that nothing covers has none.
pub(super) fn shapes(call: &Call, policy: &Policy) -> Vec<Shape> {
    match policy.tool(&call.tool).kind {
        Kind::Shell => commands(call, policy),
        Kind::Read | Kind::Search => files(call, policy, "Read"),
        Kind::Edit => files(call, policy, "Edit"),
        Kind::Fetch => hosts(call, policy),
        Kind::Skill => named(call, policy),
        Kind::Plain => vec![whole_tool(call)],
        // An agent acts on its own, and what the others do needs no rule or cannot be told from its text.
        Kind::Agent | Kind::Powershell | Kind::Books | Kind::Person => Vec::new(),
    }
}

/// The rule that names a call and nothing else, whatever may be said for or against it; `None` where no rule can. Of a
/// text with several commands it names the last.
pub fn spelled(call: &Call, policy: &Policy) -> Option<String> {
    let rule = match policy.tool(&call.tool).kind {
        Kind::Shell => {
            let analysis = analysed(subject(call, policy)?, policy);
            let last = analysis.commands.iter().rev().find_map(|command| form(&analysis, command))?;
            Rule::content(&call.tool, &last.replace('\\', "\\\\").replace('*', "\\*"))
        }
        Kind::Read | Kind::Search | Kind::Edit | Kind::Fetch | Kind::Skill | Kind::Plain => {
            shapes(call, policy).pop()?.rule
        }
        Kind::Agent | Kind::Powershell | Kind::Books | Kind::Person => Rule::tool(&call.tool),
    };
    Some(rule.to_string())
}

fn analysed(text: &str, policy: &Policy) -> Analysis {
    let context = Context { directory: policy.workspace.directory.clone(), home: policy.workspace.home.clone() };
    analyse(text, &context, &Observations::of_nothing())
}

/// The text of the tool's primary field.
fn subject<'a>(call: &'a Call, policy: &'a Policy) -> Option<&'a str> {
    call.text(policy.tool(&call.tool).field?)
}

/// The shapes for each command of a call that nothing covers yet: several rules may speak for it together.
pub(super) fn parts(call: &Call, policy: &Policy) -> Vec<Vec<Shape>> {
    match policy.tool(&call.tool).kind {
        Kind::Shell => open_commands(call, policy).iter().map(|form| command_shapes(&call.tool, form)).collect(),
        Kind::Read
        | Kind::Search
        | Kind::Edit
        | Kind::Fetch
        | Kind::Skill
        | Kind::Plain
        | Kind::Agent
        | Kind::Powershell
        | Kind::Books
        | Kind::Person => vec![shapes(call, policy)],
    }
}

fn commands(call: &Call, policy: &Policy) -> Vec<Shape> {
    match open_commands(call, policy).as_slice() {
        [form] => command_shapes(&call.tool, form),
        [] | [_, ..] => Vec::new(),
    }
}

/// The commands of a text that do more than read and that no rule covers, each once.
fn open_commands(call: &Call, policy: &Policy) -> Vec<String> {
    let Some(text) = subject(call, policy) else { return Vec::new() };
    let analysis = analysed(text, policy);
    let reads = |command: &&Command| !command.effects.iter().all(|effect| effect.act.is_reading());
    let is_covered = |form: &str| policy.text(Verdict::Allow, &call.tool, Text::every(form)).is_some();
    let open = analysis.commands.iter().filter(reads).filter_map(|command| form(&analysis, command));
    let mut open: Vec<String> = open.filter(|form| !is_covered(form)).collect();
    open.dedup();
    open
}

/// The form of a command that allow rules see, if a wildcard may stand for parts of it.
fn form(analysis: &Analysis, command: &Command) -> Option<String> {
    let form = analysis.literal_form(command)?;
    Some(form.text)
}

/// From the program with its subcommand and flags to the very command.
fn command_shapes(tool: &str, form: &str) -> Vec<Shape> {
    let words: Vec<&str> = form.split(' ').collect();
    let plain = words.iter().take_while(|word| is_plain(word)).count();
    // Flags are kept: what stands before the last one is no operand that could be opened.
    let flags = words.iter().rposition(|word| word.starts_with('-')).map_or(0, |last| last + 1);
    let subcommand = words.get(1).is_some_and(|word| is_subcommand(word));
    let first = flags.max(if subcommand { 2 } else { 1 });
    let mut shapes = Vec::new();
    for end in first..=plain.min(words.len()) {
        // Beyond the first, only a word that may be a further subcommand is kept: an operand is for the spelled rule.
        let further = words.get(first..end).unwrap_or_default();
        let Some(kept) = words.get(..end).map(|words| words.join(" ")) else { break };
        if !further.iter().all(|word| is_subcommand(word)) {
            break;
        }
        let covers = format!("`{kept}` with any operands");
        shapes.push(Shape { rule: Rule::content(tool, &format!("{kept}:*")), opens: Opens::Operands, covers });
    }
    if plain == words.len() && !form.contains('*') {
        let covers = format!("`{form}` and nothing else");
        shapes.push(Shape { rule: Rule::content(tool, form), opens: Opens::Nothing, covers });
    }
    shapes.retain(|shape| shape.rule.content.as_ref().is_some_and(|content| content.len() <= LONGEST));
    shapes
}

/// A word as it is, without quotes, expansions or anything that was meant once.
fn is_plain(word: &str) -> bool {
    let letters = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@+%~".contains(letter);
    word.chars().all(letters) && !word.is_empty() && !is_for_once(word)
}

/// A name that will not come again: a digest, an identifier, a moment, a place in a folder for scratch.
fn is_for_once(word: &str) -> bool {
    let scratch = ["/tmp/", "/var/tmp/", "/dev/shm/", "/var/folders/"];
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let hexadecimal = |part: &str| part.len() >= 7 && digits > 0 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    scratch.iter().any(|folder| word.starts_with(folder)) || digits >= 6 || word.split(['-', '/', '.']).any(hexadecimal)
}

fn is_subcommand(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase())
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_:".contains(&byte))
}

/// The file, and the folder it lies in.
fn files(call: &Call, policy: &Policy, tool: &str) -> Vec<Shape> {
    let Some(place) = subject(call, policy).and_then(|text| path::place(text, &policy.workspace).ok()) else {
        return Vec::new();
    };
    let spelled = |place: &str| !place.contains(['*', '?', '[', '!', '\\']) && !is_for_once(place);
    let mut shapes = Vec::new();
    let folder = path::parent(&place).filter(|folder| policy.workspace.holds(folder));
    if let Some(folder) = folder.filter(|folder| *folder != policy.workspace.directory && spelled(folder)) {
        let rule = Rule::content(tool, &format!("/{folder}/**"));
        shapes.push(Shape { rule, opens: Opens::Further, covers: format!("every file below `{folder}`") });
    }
    if spelled(&place) {
        let rule = Rule::content(tool, &format!("/{place}"));
        shapes.push(Shape { rule, opens: Opens::Nothing, covers: format!("`{place}` and nothing else") });
    }
    shapes
}

fn hosts(call: &Call, policy: &Policy) -> Vec<Shape> {
    let host = subject(call, policy).and_then(host_of);
    let shape = host.map(|host| Shape {
        rule: Rule::content(&call.tool, &format!("domain:{host}")),
        opens: Opens::Further,
        covers: format!("every page of `{host}`"),
    });
    shape.into_iter().collect()
}

/// The host of an address. One with a name or password in it is no address to keep.
fn host_of(address: &str) -> Option<String> {
    let (_, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.split_once(':').map_or(authority, |(host, _)| host);
    let is_host =
        |host: &str| !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b));
    is_host(host).then(|| host.to_lowercase())
}

fn named(call: &Call, policy: &Policy) -> Vec<Shape> {
    let name = subject(call, policy).filter(|name| is_plain(name) && !name.contains('*'));
    let shape = name.map(|name| Shape {
        rule: Rule::content(&call.tool, name),
        opens: Opens::Further,
        covers: format!("every use of `{name}`"),
    });
    shape.into_iter().collect()
}

fn whole_tool(call: &Call) -> Shape {
    Shape { rule: Rule::tool(&call.tool), opens: Opens::Further, covers: format!("every use of `{}`", call.tool) }
}
