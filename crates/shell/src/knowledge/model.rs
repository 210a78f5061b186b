//! The shape of what is known about programs. The values are written by the build script from `knowledge/*.toml`
//! as statics: nothing is parsed, sorted or allocated when the program starts.
//!
//! The build script reads the data into these same types. There a `Text` and a `List` are plain references; in the
//! crate they are places in a pool, and no value here may hold a pointer.

use super::pool::{List, Text};

/// A name and what is known under it. Tables of entries are sorted by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) name: Text,
    pub(crate) spec: SpecAt,
}

/// The place of a spec among all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpecAt(pub(crate) u16);

/// What is known about a program or one of its subcommands.
#[derive(Debug)]
pub(crate) struct Spec {
    /// The words that lead here: `git remote show`.
    pub(crate) path: Text,
    /// How its words are told apart.
    pub(crate) grammar: Grammar,
    /// Who reads the words.
    pub(crate) reader: Reader,
    /// The flags that are known, sorted by name. Any other flag is a fault.
    pub(crate) flags: List<Flag>,
    /// What the operands are, by position.
    pub(crate) operands: List<Operand>,
    /// What is done to the current directory when no operand names a place.
    pub(crate) default: Option<Role>,
    /// What it does whatever its operands are.
    pub(crate) does: List<Deed>,
    /// Subcommands by exact name, sorted.
    pub(crate) subcommands: List<Entry>,
    /// Subcommands by the start of their name (`describe-`), tried after the exact ones.
    pub(crate) families: List<Entry>,
    /// Whether it, or a subcommand of it, runs a command or script given in its words.
    pub(crate) wraps: Wraps,
    /// Whether a word of unknown content can turn into a flag that does harm.
    pub(crate) surprises: Surprises,
    /// Forms of words beyond flags and operands.
    pub(crate) forms: List<Form>,
}

/// How words are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// Flags anywhere before `--`, short ones bundled.
    Gnu,
    /// Flags end at the first operand; short ones bundled.
    Posix,
    /// Long names after one or two dashes, never bundled; anywhere.
    Words,
    /// As `Words`, but flags end at the first operand.
    WordsFirst,
    /// No flags: every word is an operand.
    Plain,
}

/// Who reads the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Flags and operands as described.
    Described,
    /// `find` expressions.
    Find,
    /// `test` expressions, with or without the closing bracket.
    Test,
    /// `dd`: `key=value` operands.
    Dd,
    /// `tar`, old and new style.
    Tar,
    /// `ps`, whose BSD flags have no dash.
    Ps,
    /// `env`: assignments, then a command.
    Env,
    /// `copy source… target` across machines: `scp`, `rsync`.
    Copy,
    /// A cloud client: `--query`-like flags are too many to list; only values that name local files matter.
    Cloud,
}

/// Forms of words beyond flags and operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `-5`: a number behind a dash is a harmless setting.
    Number,
    /// `+5`, `+%F`: a word that starts with a plus is a harmless setting.
    Plus,
    /// `+5`, `+2:3`: a number behind a plus is a harmless setting, any other such word an operand.
    PlusNumber,
    /// `+cmd`: a word that starts with a plus makes the program do something.
    PlusActs,
    /// Asks for the repository's own configuration first.
    Repository,
    /// `--help` is no harmless question here: the program runs the project's code before it answers.
    NoHelp,
    /// Without an operand it goes home.
    AtHome,
}

/// Whether a word of unknown content can turn into a flag that does harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surprises {
    /// No flag of any version does more than read.
    Harmless,
    /// Some flag writes, runs or connects, or nobody has looked.
    Possible,
}

/// Whether a program runs a command or script given in its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wraps {
    Nothing,
    Something,
}

/// A flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flag {
    /// With its dashes.
    pub(crate) name: Text,
    pub(crate) takes: Takes,
    pub(crate) does: List<Deed>,
}

/// Whether a flag takes a value, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    /// Attached, after `=`, or the next word.
    Value(Role),
    /// Attached or after `=` only.
    Optional(Role),
    /// The next two words: a name, then a value of this role.
    Pair(Role),
}

/// An operand's place in the list.
#[derive(Debug)]
pub(crate) struct Operand {
    pub(crate) role: Role,
    pub(crate) count: Count,
}

/// How many operands a place takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    One,
    Optional,
    Any,
    Some,
}

/// What a word is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Text that is only looked at: a pattern, a name, a format.
    Data,
    /// A number, perhaps with a unit.
    Number,
    /// A plain name: no path, no address, no assignment.
    Name,
    /// One of these; `*` stands for any text.
    Choice(List<Text>),
    /// A path whose content is read.
    Read,
    /// As `Read`, for programs to which a colon in the name means a protocol, a coder or another machine, a leading
    /// `@` a file of names or options, or a leading bar a program.
    File,
    /// A path of which names and metadata are looked at.
    List,
    /// A path that is created or changed.
    Write,
    /// A path that is read and changed in place.
    Edit,
    /// A path that is removed.
    Remove,
    /// The directory everything relative is seen from.
    Directory,
    /// A host or address that is fetched from.
    Fetch,
    /// A host or address that data is sent to.
    Send,
    /// Shell text.
    Script,
    /// The first word of a command that reaches to the end of the words.
    Command,
    /// The first word of a command that is reported on its own: run by a runner, on another machine, in another root.
    Remote,
    /// A shell script's file.
    Source,
    /// A file of code in any other language.
    Load,
    /// A program to run.
    Run,
    /// Text in another language.
    Code(Language),
    /// `NAME` or `NAME=value` of a shell variable.
    Variable,
    /// `NAME=value` or `NAME` for the environment of a program.
    Environment,
    /// Its presence means that the project's files or repository change.
    Change,
    /// Its presence means that the system's state changes.
    System,
    /// A task of the project's own: a target, a script name.
    Task,
    /// A revision, or a path that is read.
    Pathspec,
    /// Known, and not harmless.
    Refuse,
}

/// Languages whose text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Sed,
    Awk,
    Jq,
    /// An expression, or the name of a file.
    Yq,
    Postgres,
    Mysql,
    Sqlite,
    Duckdb,
    Python,
    Node,
    Perl,
    Ruby,
    Php,
    Dc,
    /// No reader: always code.
    Other,
}

/// What a flag or a subcommand does by being there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Looks at names and metadata in the current directory.
    Lists,
    /// Reads the current directory's content.
    Reads,
    /// Changes the current directory's content.
    Writes,
    /// Runs the project's own code.
    Project,
    /// Runs the project's task of the subcommand's own name.
    Task,
    /// Runs a program that a configuration or variable names.
    Runs,
    /// Runs text or input as code.
    Code,
    /// Reaches another machine to look.
    Network,
    /// Reaches another machine to change or to send.
    Sends,
    /// Changes the system's state.
    System,
    /// Changes the system's state by what is piped into it; without that it only shows something.
    Input,
    /// Not known to be harmless.
    Unknown,
    /// Reads this file of the user's home.
    Home(Text),
    /// Reads this place.
    Place(Text),
    /// Prints a secret: never a free read.
    Secret,
    /// Only prints something about itself: operands do not count.
    Stop,
    /// As `Stop`, but only as the one word after the (sub)command; anywhere else the flag may mean another thing.
    Alone,
    /// Operands that name something have this role instead.
    Operands(Role),
    /// What is done to the current directory when no operand names a place.
    Default(Role),
    /// The first operand's part has been played by this flag.
    Given,
    /// Removals take everything below.
    Recursive,
    /// The result goes to standard output: operands are read, whatever other flags make of them.
    Stdout,
    /// The flag says what is done instead of what is done otherwise.
    Instead,
    /// Everything after this flag's value is an operand.
    Rest,
}
