//! What mayi must know about an agent to install a hook there and to see whether it works. Each agent is one constant
//! in a file of its own under `agents/`; nothing here knows any of them by name.

use mayi_core::verdict::Verdict;

/// An agent, as installation sees it.
#[derive(Debug)]
pub struct Agent {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The names its program goes by.
    pub programs: &'static [&'static str],
    /// The folder of a person's own configuration.
    pub base: Base,
    /// The files that hold the hook. None: a person must configure it by hand.
    pub files: &'static [File],
    /// What a person must still do or know once it is installed.
    pub notes: &'static [&'static str],
    /// Settings of the agent itself that switch its hooks off.
    pub switches: &'static [Switch],
    /// Where the agent notes that a person approved the hook, if it wants that.
    pub approval: Option<Approval>,
    /// How the hook is tried out.
    pub canary: Canary,
}

/// A folder of configuration: what a variable names, or else a folder below home.
#[derive(Debug)]
pub struct Base {
    /// The variable.
    pub variable: Option<&'static str>,
    /// The folder below home.
    pub below_home: &'static str,
}

/// A file that holds the hook, or a part of it.
#[derive(Debug)]
pub struct File {
    /// The person's own, below the base folder.
    pub user: Option<&'static str>,
    /// Everybody's in a project, below its root.
    pub project: Option<&'static str>,
    /// The person's own in a project, below its root.
    pub local: Option<&'static str>,
    /// What is written there.
    pub kind: Kind,
}

/// What is written to a file.
#[derive(Debug)]
pub enum Kind {
    /// Entries in a JSON file that may hold much else.
    Entries(Entries),
    /// A file that is mayi's alone.
    Whole(Whole),
}

/// Entries of hooks in a JSON file, under `hooks`, by event.
#[derive(Debug)]
pub struct Entries {
    /// How an event lists its hooks.
    pub shape: Shape,
    /// Members that the file must have beside `hooks`.
    pub head: &'static [(&'static str, Fixed)],
    /// Members of each hook before the command.
    pub handler: &'static [(&'static str, Fixed)],
    /// The member with the command.
    pub command: &'static str,
    /// What the command line does when mayi itself fails.
    pub failure: Failure,
    /// The member with the time-out, and the time-out.
    pub limit: (&'static str, Fixed),
    /// The events.
    pub events: &'static [Hooked],
}

/// What a hook's command line does when mayi is killed or gone. No answer of ours to these agents ends with another code
/// than 0, save a refusal with 2, so nothing else comes to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing: the agent blocks the call by itself, or can be told to, or has no way to be told.
    LeftToTheAgent,
    /// It ends with 2 and a text, which the agent takes for a denial where it passes over other failures.
    EndsWithTwo,
}

/// How an event lists its hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Groups with a matcher: `[{"matcher": "*", "hooks": [{…}]}]`.
    Grouped,
    /// One after the other: `[{…}]`.
    Flat,
}

/// An event that gets a hook.
#[derive(Debug)]
pub struct Hooked {
    /// The agent's name for it.
    pub event: &'static str,
    /// Which tools, where the agent wants to be told.
    pub matcher: Option<&'static str>,
    /// Members that only this event's hook has, such as what happens when it fails.
    pub extra: &'static [(&'static str, Fixed)],
}

/// A value that is always the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixed {
    /// A text.
    Text(&'static str),
    /// A number.
    Number(u32),
    /// True or false.
    Flag(bool),
}

/// A file that is mayi's alone. It carries [`MARK`](super::whole::MARK).
#[derive(Debug)]
pub struct Whole {
    /// Its text, with `@COMMAND@` where the command belongs.
    pub text: &'static str,
    /// How the command is written into it.
    pub fill: Fill,
}

/// How a command is written into a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// As words for a shell; the file is a program.
    Script,
    /// As a JSON list of words.
    List,
    /// Not at all.
    Nothing,
}

/// A setting of the agent that switches hooks off.
#[derive(Debug)]
pub struct Switch {
    /// Where the file lies.
    pub lies: Lies,
    /// The file, JSON or TOML by its name.
    pub file: &'static str,
    /// Where in it, as a JSON pointer.
    pub pointer: &'static str,
    /// What it holds when hooks are off.
    pub off: Off,
    /// What that means, for people.
    pub means: &'static str,
}

/// A note of the agent's own that a person approved a hook.
#[derive(Debug)]
pub struct Approval {
    /// The person's settings file that holds it.
    pub file: &'static str,
    /// The object with a member for each hook, as a JSON pointer.
    pub pointer: &'static str,
    /// What the name of the member contains.
    pub named: &'static [&'static str],
    /// What a note has when it is an approval.
    pub member: &'static str,
    /// What it means when there is none, and what to do then.
    pub missing: (&'static str, &'static str),
}

/// Where a file of the agent's settings lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lies {
    /// Below the base folder.
    User,
    /// Below the project's root.
    Project,
    /// Below the root of the system, where an organisation puts it.
    System,
}

/// What a switch holds when hooks are off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Off {
    /// This value.
    Holds(Fixed),
    /// A list with this text in it.
    Lists(&'static str),
}

/// How the hook is tried out: a message as the agent sends it, and how the agent reads the answer.
#[derive(Debug)]
pub struct Canary {
    /// The event whose hook is tried.
    pub event: &'static str,
    /// The message: JSON with `@COMMAND@` for the shell command and `@FOLDER@` for the working directory.
    pub message: &'static str,
    /// How the agent runs the hook.
    pub run: Run,
    /// Where the answer is, as a JSON pointer.
    pub pointer: &'static str,
    /// What the words there mean.
    pub words: &'static [(&'static str, Verdict)],
    /// What it means when the hook says nothing.
    pub silence: Option<Verdict>,
    /// The exit codes of a hook that answered.
    pub codes: &'static [i32],
}

/// How an agent runs a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// As a line for a shell.
    Shell(&'static str),
    /// The file itself is the program.
    File,
    /// The words, without a shell.
    Words,
}
