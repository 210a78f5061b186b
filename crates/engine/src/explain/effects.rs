//! Effects in plain words: one sentence for each kind, with a few names and not all of them.

use mayi_shell::effect::{Act, Effect, Executes, Place};

/// How many names a sentence lists before it counts the rest.
const NAMES: usize = 3;

/// What effects amount to, most telling first.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) removes: Vec<String>,
    pub(super) writes: Vec<String>,
    pub(super) sends: Vec<String>,
    pub(super) fetches: Vec<String>,
    pub(super) runs: Vec<String>,
    pub(super) changes: Vec<String>,
    pub(super) reads: Vec<String>,
    pub(super) lists: Vec<String>,
    pub(super) unknown: Vec<String>,
}

impl Summary {
    pub(super) fn of(effects: &[Effect]) -> Self {
        let mut summary = Self::default();
        for effect in effects {
            let (list, name) = summary.entry(&effect.act);
            if !list.contains(&name) {
                list.push(name);
            }
        }
        summary
    }

    fn entry(&mut self, act: &Act) -> (&mut Vec<String>, String) {
        match act {
            Act::Lists(place) => (&mut self.lists, place_name(place)),
            Act::Reads(place) => (&mut self.reads, place_name(place)),
            Act::Writes(place) => (&mut self.writes, place_name(place)),
            Act::Removes { place, recursive: false } => (&mut self.removes, place_name(place)),
            Act::Removes { place, recursive: true } => {
                (&mut self.removes, format!("{} (and everything below it)", place_name(place)))
            }
            Act::Executes(executed) => (&mut self.runs, executed_name(executed)),
            Act::Connects { host, sends: true } => (&mut self.sends, host_name(host.as_deref())),
            Act::Connects { host, sends: false } => (&mut self.fetches, host_name(host.as_deref())),
            Act::ChangesSystem(what) => (&mut self.changes, format!("`{what}`")),
            Act::Unknown(why) => (&mut self.unknown, why.clone()),
        }
    }

    /// The sentences, most telling first. Empty when nothing happens beyond computing and printing.
    pub(super) fn sentences(&self) -> Vec<String> {
        let rows: [(&str, &[String]); 9] = [
            ("Removes", &self.removes),
            ("Writes", &self.writes),
            ("Sends data to", &self.sends),
            ("Fetches from", &self.fetches),
            ("Runs", &self.runs),
            ("Changes the state of this machine by", &self.changes),
            ("Reads", &self.reads),
            ("Looks at the names in", &self.lists),
            ("Partly unknown:", &self.unknown),
        ];
        let told = rows.into_iter().filter(|(_, names)| !names.is_empty());
        told.map(|(begin, names)| format!("{begin} {}.", listed(names))).collect()
    }

    /// It does nothing but look.
    pub(super) fn only_looks(&self) -> bool {
        [&self.removes, &self.writes, &self.sends, &self.fetches, &self.runs, &self.changes, &self.unknown]
            .into_iter()
            .all(Vec::is_empty)
    }
}

/// `a, b and c`, or `a, b, c and 4 more`.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] if names.len() <= NAMES => format!("{} and {last}", first.join(", ")),
        many => {
            let shown: Vec<&str> = many.iter().take(NAMES).map(String::as_str).collect();
            format!("{} and {} more", shown.join(", "), many.len() - NAMES)
        }
    }
}

fn place_name(place: &Place) -> String {
    match place {
        Place::Path(path) => format!("`{path}`"),
        Place::Pattern { below, pattern } => {
            format!("whatever matches `{pattern}` in `{}`", below.trim_end_matches('/'))
        }
        Place::Unknown(word) => format!("a place that only `{word}` names"),
    }
}

fn executed_name(executed: &Executes) -> String {
    match executed {
        Executes::File(place) => format!("the file {}", place_name(place)),
        Executes::Code(interpreter) => format!("code that is given to {interpreter}"),
        Executes::Project(tool) => format!("the project's own code with {tool}"),
        Executes::Named(by) => format!("a program that {by} names"),
        Executes::Unknown(name) => format!("`{name}`, a program that is not known"),
    }
}

fn host_name(host: Option<&str>) -> String {
    host.map_or_else(|| "the network".to_owned(), |host| format!("`{host}`"))
}
