//! Small readers for the languages that stand inside command lines. Each lists what a program text may do besides
//! computing and printing; what a reader does not follow, it reports as not known.

mod awk;
mod sed;
mod sql;

pub(crate) use sed::with_holes as sed_with_holes;

use crate::knowledge::model::Language;
use crate::knowledge::variables;

/// Something a program text does besides computing and printing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Reads a file it names.
    Reads(String),
    /// Writes a file it names.
    Writes(String),
    /// Changes the database it talks to.
    Changes,
    /// Runs a command, or is code without a reader.
    Runs,
    /// Not followed; why.
    Unknown(&'static str),
}

/// What a program text does.
pub(crate) fn findings(language: Language, text: &str) -> Vec<Finding> {
    match language {
        Language::Sed => sed::findings(text),
        Language::Awk => awk::findings(text),
        Language::Jq => jq(text),
        Language::Yq => yq(text),
        Language::Postgres => sql::findings(sql::Dialect::Postgres, text),
        Language::Mysql => sql::findings(sql::Dialect::Mysql, text),
        Language::Sqlite => sql::findings(sql::Dialect::Sqlite, text),
        Language::Duckdb => sql::findings(sql::Dialect::Duckdb, text),
        Language::Dc if !text.contains('!') => Vec::new(),
        Language::Dc => vec![Finding::Runs],
        Language::Python | Language::Node | Language::Perl | Language::Ruby | Language::Php | Language::Other => {
            vec![Finding::Runs]
        }
    }
}

/// A yq expression can load files, print the environment and in newer versions run programs. Where a file of its
/// name exists, the text is that file instead.
fn yq(text: &str) -> Vec<Finding> {
    let acts = ["load", "env", "system", "eval"].iter().any(|word| {
        text.match_indices(word).any(|(at, _)| {
            let rest = text.get(at..).unwrap_or_default();
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .is_some_and(|end| rest.get(end..).is_some_and(|tail| tail.trim_start().starts_with('(')))
        })
    });
    if acts || text.contains("envsubst") {
        return vec![Finding::Unknown("a yq expression that loads or runs")];
    }
    let is_name = !text.contains(|c: char| c.is_whitespace() || "|[](){}\"'*=".contains(c));
    if is_name && !text.is_empty() && text.contains(|c: char| c.is_ascii_alphanumeric()) {
        return vec![Finding::Reads(text.to_string())];
    }
    jq(text)
}

/// A jq filter can only compute; but it may begin by loading other files.
fn jq(text: &str) -> Vec<Finding> {
    let code = text.lines().map(str::trim_start).find(|line| !line.is_empty() && !line.starts_with('#'));
    let loads = code.is_some_and(|line| ["import", "include", "module"].iter().any(|word| line.starts_with(word)));
    if loads {
        return vec![Finding::Unknown("a jq program that loads others")];
    }
    if text.to_ascii_lowercase().contains("env") && variables::sounds_secret(text) {
        return vec![Finding::Unknown("looks for secrets in the environment")];
    }
    Vec::new()
}
