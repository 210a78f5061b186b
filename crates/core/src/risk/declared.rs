//! Package runners: `npx eslint` runs the project's own tool when the project declares it. What a manifest says is
//! an observation; a manifest that was not looked at declares nothing.

use mayi_shell::command::{Command, Directory, Layer};
use mayi_shell::observe::{Answer, Question};

use crate::inspect::View;
use crate::path;
use crate::risk::data;

/// The runners, with the word before the tool, if they have one.
const RUNNERS: [(&str, Option<&str>); 6] = [
    ("npx", None),
    ("pnpx", None),
    ("bunx", None),
    ("pnpm", Some("exec")),
    ("npm", Some("exec")),
    ("yarn", Some("exec")),
];

/// Flags of runners that fetch nothing and name no other package.
const HARMLESS: [&str; 3] = ["--no-install", "--no", "--"];

/// The package that the runner's tool comes from. `None` when it is another command, names a version or another
/// package, or runs a tool that is not listed.
fn package(command: &Command) -> Option<&'static str> {
    let mut words = command.words.iter().map(|word| word.text());
    let program = words.next()??;
    let is_own = |layer: &Layer| layer.wrapper == program;
    if !command.assignments.is_empty() || !command.layers.iter().all(is_own) {
        return None;
    }
    let (_, before) = RUNNERS.into_iter().find(|(name, _)| *name == program)?;
    if let Some(before) = before
        && words.next()?? != before
    {
        return None;
    }
    let tool = words.find(|word| !word.is_some_and(|word| HARMLESS.contains(&word)))??;
    data::PACKAGES.iter().find(|(name, _)| *name == tool).map(|(_, package)| *package)
}

/// The manifest that speaks for the command.
fn manifest(view: &View<'_>, command: &Command) -> Option<Question> {
    let directory = match &command.standing.directory {
        Directory::Start => view.policy.workspace.here().to_owned(),
        Directory::At(directory) => directory.clone(),
        Directory::Unknown => return None,
    };
    let inside = !command.standing.doubtful && view.policy.workspace.holds(&directory);
    inside.then(|| Question::File(path::join(&directory, "package.json")))
}

/// What must be known to say whether the project declares what the command runs.
pub(super) fn question(view: &View<'_>, command: &Command) -> Option<Question> {
    package(command)?;
    manifest(view, command)
}

/// The command runs a listed tool that the project declares.
pub(super) fn is_declared(view: &View<'_>, command: &Command) -> bool {
    let Some(package) = package(command) else { return false };
    let Some(Answer::Text(text)) = manifest(view, command).as_ref().and_then(|question| view.facts.answer(question))
    else {
        return false;
    };
    let Ok(manifest) = serde_json::from_str::<serde_json::Value>(text) else { return false };
    ["dependencies", "devDependencies"].into_iter().any(|list| {
        // A version names the registry; an address in its place names code from elsewhere.
        let version = manifest.get(list).and_then(|list| list.get(package)).and_then(serde_json::Value::as_str);
        version.is_some_and(|version| !version.contains([':', '/']))
    })
}
