//! Cline: the JSON of `CLINE_COMMAND_PERMISSIONS`, kept in a file. A deny wins there as here; where anything is allowed,
//! everything else is denied there.

use std::path::{Path, PathBuf};

use mayi_core::verdict::Verdict;
use serde::Deserialize;

use super::{Draft, Effect, Importer, Subject, Unreadable, line_of};

pub(super) const IMPORTER: Importer = Importer { agent: "cline", files, read };

/// It stands in a variable, so there is no file to look for.
fn files(_: &Path, _: Option<&Path>) -> Vec<PathBuf> {
    Vec::new()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Permissions {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    allow_redirects: bool,
}

fn read(text: &str) -> Result<Draft, Unreadable> {
    let permissions: Permissions = serde_json::from_str(text)
        .map_err(|error| Unreadable { line: error.line(), problem: format!("it is no such JSON: {error}") })?;
    let mut draft = Draft::default();
    for (list, verdict) in [(&permissions.deny, Verdict::Deny), (&permissions.allow, Verdict::Allow)] {
        for pattern in list {
            let line = line_of(text, text.find(pattern.as_str()).unwrap_or_default());
            match pattern.as_str() {
                "*" => draft.say(verdict, Subject::Tool("Bash".to_owned()), (0, line)),
                _ if pattern.contains('?') && verdict == Verdict::Allow => {
                    draft.lose(verdict, line, "with a sign for a single letter");
                }
                _ => {
                    let content = pattern.replace('\\', "\\\\").replace('?', "*");
                    draft.say(verdict, Subject::command(content, pattern.as_str()), (0, line));
                }
            }
        }
    }
    if !permissions.allow.is_empty() {
        let message = "commands that are not allowed are denied there; here they ask, unless they only read\n\
                       help: the mode `dontAsk` denies what would ask";
        draft.remark(Effect::Asks, 1, message);
    }
    if permissions.allow_redirects {
        draft.remark(Effect::Stricter, 1, "redirections are judged by the file they write here");
    }
    Ok(draft)
}
