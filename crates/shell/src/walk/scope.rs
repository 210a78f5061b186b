//! What is known at a point of the text: variables, positional parameters, functions, the directory.
//!
//! Every change is written to a journal, so that leaving a subshell undoes it and leaving a branch forgets it
//! without copying the whole scope. Knowledge is only ever lost, never guessed.

use crate::command::Directory;
use crate::parse::tree::Compound;
use crate::walk::source::Source;
use std::collections::HashMap;
use std::rc::Rc;

/// What is known of a variable that the text assigns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    /// Exactly this text.
    Known(String),
    /// An array of exactly these elements.
    Array(Vec<String>),
    /// Something unknown.
    Unknown(Origin),
}

/// Where an unknown value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// From this text or the environment: a loop's counter, a literal of one branch or another.
    Own,
    /// The output of this command substitution.
    Output(String),
    /// Data from outside: `read`, a file name, a line of a file.
    Foreign,
}

impl Variable {
    /// Where the value comes from, should it no longer be followed.
    pub(super) fn origin(&self) -> Origin {
        match self {
            Self::Known(text) => Origin::of_text(text),
            Self::Array(values) => Origin::of_texts(values),
            Self::Unknown(origin) => origin.clone(),
        }
    }
}

impl Origin {
    /// The origin of a known text that is about to be forgotten: one that would run something when it is
    /// evaluated must not be forgotten as a harmless one.
    pub(super) fn of_text(text: &str) -> Self {
        if text.contains(['$', '`']) { Self::Foreign } else { Self::Own }
    }

    /// The same for any of several texts.
    pub(super) fn of_texts(texts: &[String]) -> Self {
        if texts.iter().any(|text| Self::of_text(text) == Self::Foreign) { Self::Foreign } else { Self::Own }
    }

    /// The more suspect of two origins.
    pub(super) fn or(self, other: Self) -> Self {
        if self == Self::Own { other } else { self }
    }
}

/// A function of the text.
#[derive(Clone, Debug)]
pub(super) struct Defined {
    /// Number of the definition, to note that it was called.
    pub(super) id: usize,
    /// Its body.
    pub(super) body: Rc<Compound>,
    /// The text the body stands in.
    pub(super) source: Source,
    /// Whether a call is sure to run it.
    pub(super) certainty: Certainty,
}

/// Whether something is sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// It is.
    Certain,
    /// It may be otherwise.
    Doubtful,
}

/// The directory, and whether an earlier one may still hold (`cd a; x` when `cd` fails).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whereabouts {
    pub(super) directory: Directory,
    pub(super) certainty: Certainty,
}

/// Directories `pushd` may leave behind; beyond it they are forgotten.
const STACK: usize = 32;

/// One undone step.
enum Change {
    Variable(String, Option<Variable>),
    Function(String, Option<Defined>),
    Positional(Option<Vec<String>>),
    Place(Whereabouts),
    Alias(String, Option<String>),
    Stack(Vec<Directory>),
}

/// A point in the journal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark(usize);

/// The scope.
pub(super) struct Scope {
    variables: HashMap<String, Variable>,
    functions: HashMap<String, Defined>,
    aliases: HashMap<String, String>,
    /// `None`: not known.
    positional: Option<Vec<String>>,
    place: Whereabouts,
    /// What `pushd` left behind.
    stack: Vec<Directory>,
    journal: Vec<Change>,
}

impl Scope {
    pub(super) fn new() -> Self {
        Self {
            variables: HashMap::new(),
            functions: HashMap::new(),
            aliases: HashMap::new(),
            positional: None,
            place: Whereabouts { directory: Directory::Start, certainty: Certainty::Certain },
            stack: Vec::new(),
            journal: Vec::new(),
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<&Variable> {
        if self.variables.is_empty() { None } else { self.variables.get(name) }
    }

    pub(super) fn assign(&mut self, name: &str, value: Variable) {
        let old = self.variables.insert(name.to_owned(), value);
        self.journal.push(Change::Variable(name.to_owned(), old));
    }

    pub(super) fn function(&self, name: &str) -> Option<&Defined> {
        if self.functions.is_empty() { None } else { self.functions.get(name) }
    }

    pub(super) fn define(&mut self, name: &str, function: Defined) {
        let old = self.functions.insert(name.to_owned(), function);
        self.journal.push(Change::Function(name.to_owned(), old));
    }

    pub(super) fn alias(&self, name: &str) -> Option<&str> {
        if self.aliases.is_empty() { None } else { self.aliases.get(name).map(String::as_str) }
    }

    pub(super) fn set_alias(&mut self, name: &str, text: &str) {
        let old = self.aliases.insert(name.to_owned(), text.to_owned());
        self.journal.push(Change::Alias(name.to_owned(), old));
    }

    pub(super) fn drop_aliases(&mut self) {
        for (name, text) in std::mem::take(&mut self.aliases) {
            self.journal.push(Change::Alias(name, Some(text)));
        }
    }

    pub(super) fn positional(&self) -> Option<&[String]> {
        self.positional.as_deref()
    }

    pub(super) fn set_positional(&mut self, values: Option<Vec<String>>) {
        let old = std::mem::replace(&mut self.positional, values);
        self.journal.push(Change::Positional(old));
    }

    pub(super) fn place(&self) -> &Whereabouts {
        &self.place
    }

    pub(super) fn move_to(&mut self, directory: Directory, certainty: Certainty) {
        let old = std::mem::replace(&mut self.place, Whereabouts { directory, certainty });
        self.journal.push(Change::Place(old));
    }

    /// Moves and remembers where from, as `pushd` does.
    pub(super) fn push_directory(&mut self, directory: Directory) {
        self.journal.push(Change::Stack(self.stack.clone()));
        if self.stack.len() >= STACK {
            self.stack.clear();
        }
        self.stack.push(self.place.directory.clone());
        self.move_to(directory, Certainty::Certain);
    }

    /// Where `popd` goes.
    pub(super) fn pop_directory(&mut self) -> Option<Directory> {
        self.journal.push(Change::Stack(self.stack.clone()));
        self.stack.pop()
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.journal.len())
    }

    /// Undoes everything since the mark: the end of a subshell.
    pub(super) fn undo(&mut self, mark: Mark) {
        while self.journal.len() > mark.0 {
            match self.journal.pop() {
                None => return,
                Some(Change::Variable(name, old)) => restore(&mut self.variables, name, old),
                Some(Change::Function(name, old)) => restore(&mut self.functions, name, old),
                Some(Change::Alias(name, old)) => restore(&mut self.aliases, name, old),
                Some(Change::Positional(old)) => self.positional = old,
                Some(Change::Place(old)) => self.place = old,
                Some(Change::Stack(old)) => self.stack = old,
            }
        }
    }

    /// Forgets everything that was set since the mark: the end of a branch that may or may not have run. The
    /// directory is the caller's to judge.
    pub(super) fn doubt(&mut self, mark: Mark) {
        let mut names = Vec::new();
        let mut functions = Vec::new();
        let mut positional = false;
        for change in self.journal.iter().skip(mark.0) {
            match change {
                Change::Variable(name, old) => {
                    names.push((name.clone(), old.as_ref().map_or(Origin::Own, Variable::origin)));
                }
                Change::Function(name, _) => functions.push(name.clone()),
                Change::Positional(_) => positional = true,
                Change::Place(_) | Change::Alias(..) | Change::Stack(_) => {}
            }
        }
        for (name, before) in names {
            self.forget_between(&name, before);
        }
        for name in functions {
            self.doubt_function(&name);
        }
        if positional && self.positional.is_some() {
            self.set_positional(None);
        }
    }

    /// The variable is assigned, but its value is no longer known; what it may come from is kept.
    pub(super) fn forget(&mut self, name: &str) {
        self.forget_between(name, Origin::Own);
    }

    /// The same when it may also still have a value of another origin. What is known to be so suspect already is
    /// left alone, so that the journal does not grow with every level that forgets it again.
    fn forget_between(&mut self, name: &str, other: Origin) {
        let current = self.variables.get(name);
        let origin = current.map_or(Origin::Own, Variable::origin).or(other);
        if current != Some(&Variable::Unknown(origin.clone())) {
            self.assign(name, Variable::Unknown(origin));
        }
    }

    /// Names of the variables that have a known value.
    pub(super) fn known_names(&self) -> Vec<String> {
        let known = |value: &Variable| !matches!(value, Variable::Unknown(_));
        self.variables.iter().filter(|(_, value)| known(value)).map(|(name, _)| name.clone()).collect()
    }

    /// How much there is to forget.
    pub(super) fn size(&self) -> usize {
        self.variables.len() + self.functions.len()
    }

    /// Nothing that was known can be relied on: code ran that the text does not show.
    pub(super) fn forget_all(&mut self) {
        for name in self.known_names() {
            self.forget(&name);
        }
        let functions: Vec<String> = self.functions.keys().cloned().collect();
        for name in functions {
            self.doubt_function(&name);
        }
        if self.positional.is_some() {
            self.set_positional(None);
        }
        if self.place.directory != Directory::Unknown {
            self.move_to(Directory::Unknown, Certainty::Certain);
        }
    }

    /// The function may no longer be what its name calls. What is doubtful already is left alone, so that the
    /// journal does not grow with every level that doubts it again.
    pub(super) fn doubt_function(&mut self, name: &str) {
        if let Some(mut function) =
            self.functions.get(name).filter(|known| known.certainty == Certainty::Certain).cloned()
        {
            function.certainty = Certainty::Doubtful;
            self.define(name, function);
        }
    }
}

fn restore<T>(map: &mut HashMap<String, T>, name: String, old: Option<T>) {
    match old {
        Some(value) => map.insert(name, value),
        None => map.remove(&name),
    };
}
