//! Why a step spoke. Reasons are data; the words for people are made at the very end, by `Display`.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::mode::Mode;
use crate::policy::{Entry, Origin};

/// Why a step settled a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Reason {
    /// A rule matched.
    Rule {
        /// The rule with its origin.
        rule: Arc<Entry>,
        /// What it matched: the command, path, host or parameter.
        #[serde(skip_serializing_if = "Option::is_none")]
        matched: Option<String>,
    },
    /// Several allow rules and the read-only set cover the call together.
    Covered {
        /// The rules, in the order of the parts they cover.
        rules: Vec<Arc<Entry>>,
    },
    /// A deny or ask rule might match: the command word is unknown, or the text was not understood.
    MightMatch {
        /// One of the rules that might match.
        rule: Arc<Entry>,
        /// What is unknown.
        unknown: String,
    },
    /// A deny or ask entry that cannot be read: nobody knows what it was meant to stop.
    Malformed {
        /// The entry.
        rule: Arc<Entry>,
    },
    /// A settings file that cannot be read: its deny rules are unknown.
    BrokenSettings {
        /// The file.
        origin: Origin,
    },
    /// The input is not what the tool takes.
    BadInput {
        /// What is wrong.
        problem: String,
    },
    /// A path goes round in circles.
    LinkLoop {
        /// The path.
        path: String,
    },
    /// The file to edit is a symbolic link.
    IsLink {
        /// The path.
        path: String,
        /// Where it leads.
        target: String,
    },
    /// Reading outside the working directories is blocked by a setting.
    ReadsBlocked {
        /// The path.
        path: String,
    },
    /// The tool needs a person by its nature.
    NeedsPerson,
    /// A protected path would be written.
    Protected {
        /// The path.
        path: String,
        /// The entry of the list that names it.
        entry: String,
    },
    /// A critical path would be removed.
    Critical {
        /// The path or word.
        path: String,
        /// Why it is critical.
        why: String,
    },
    /// The mode skips questions.
    Bypass,
    /// It only reads, and only where reading is free.
    ReadOnly,
    /// It only keeps the agent's own books.
    Harmless,
    /// A documentation host that everybody may read.
    PublicDocumentation {
        /// The host.
        host: String,
    },
    /// An edit inside the working directories, in a mode that accepts edits.
    AcceptedEdit,
    /// It will run confined.
    Confined,
    /// No rule and no mode speaks for it.
    Silence {
        /// The part that nobody speaks for, and why, if that can be named.
        #[serde(skip_serializing_if = "Option::is_none")]
        part: Option<Part>,
    },
    /// A hook before the call said so.
    Hook {
        /// The hook's own words.
        message: String,
    },
    /// The mode never asks.
    NeverAsks {
        /// The mode.
        mode: Mode,
        /// Why somebody would have been asked.
        because: Box<Reason>,
    },
    /// The tool is on the safe list.
    SafeTool,
    /// The static risk analysis is certain.
    Risk {
        /// The category or exception.
        category: String,
        /// What in the call says so.
        detail: String,
    },
    /// The classifier answered.
    Classified {
        /// The category, when it blocked.
        #[serde(skip_serializing_if = "Option::is_none")]
        category: Option<String>,
        /// Its reason.
        message: String,
    },
    /// The classifier could not answer.
    ClassifierFailed {
        /// What went wrong.
        problem: String,
    },
    /// Too many denials: automatic mode steps back.
    DenialLimit {
        /// Denials in a row.
        in_a_row: u32,
        /// Denials in the session.
        total: u32,
        /// Why the call would have been denied: whoever is asked should know.
        because: Box<Reason>,
    },
    /// Nobody is there to answer.
    Unattended {
        /// Why somebody would have been asked.
        because: Box<Reason>,
    },
    /// A person answered.
    Person {
        /// What they said with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    /// The lead's permissions bind its children.
    Lead {
        /// The lead's session.
        lead: String,
        /// Its own reason.
        because: Box<Reason>,
    },
    /// The lead would be allowed the same, and lets its child.
    Vouched {
        /// The lead's session.
        lead: String,
        /// Why it would be.
        because: Box<Reason>,
    },
    /// A child's question, put at its lead's prompt.
    Bubbled {
        /// The child's session.
        child: String,
        /// Why it asks.
        because: Box<Reason>,
    },
    /// Something that a decision needs is missing or broken, so nothing is let through.
    Trouble {
        /// What is wrong.
        problem: String,
    },
}

/// A part of a call, for people: which one, and what is open about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The command, path or host.
    pub text: String,
    /// Why nobody speaks for it.
    pub why: String,
    /// Where it stands in the command text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<(usize, usize)>,
}

impl Reason {
    /// Silence with nothing to point at.
    pub fn silence() -> Self {
        Reason::Silence { part: None }
    }

    /// The category of risk that it names, if it names one.
    pub fn category(&self) -> Option<&str> {
        let (Reason::Risk { category, .. } | Reason::Classified { category: Some(category), .. }) = self else {
            return None;
        };
        Some(category)
    }

    /// The reason behind the reason: what asked before the mode or the absence of people turned it.
    pub fn root(&self) -> &Reason {
        let mut reason = self;
        while let Reason::NeverAsks { because, .. }
        | Reason::Unattended { because }
        | Reason::Lead { because, .. }
        | Reason::Vouched { because, .. }
        | Reason::Bubbled { because, .. } = reason
        {
            reason = because;
        }
        reason
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Rule { rule, matched: Some(what) } => write!(f, "{rule} matches `{what}`"),
            Reason::Rule { rule, matched: None } => write!(f, "{rule}"),
            Reason::Covered { rules } => write_rules(f, rules),
            Reason::MightMatch { rule, unknown } => write!(f, "{unknown}: {rule} might match"),
            Reason::Malformed { rule } => write!(f, "{rule} cannot be read, so the whole tool asks until it is mended"),
            Reason::BrokenSettings { origin } => write!(f, "{origin} cannot be read, so its rules are unknown"),
            Reason::BadInput { problem } => f.write_str(problem),
            Reason::LinkLoop { path } => write!(f, "`{path}` is a loop of symbolic links"),
            Reason::IsLink { path, target } => write!(f, "`{path}` is a link: edit `{target}` itself"),
            Reason::ReadsBlocked { path } => {
                write!(f, "`{path}` lies outside the working directories, and reading there is blocked")
            }
            Reason::NeedsPerson => f.write_str("this tool needs a person"),
            Reason::Protected { path, entry } => write!(f, "`{path}` is protected ({entry})"),
            Reason::Critical { path, why } => write!(f, "would remove `{path}`: {why}"),
            Reason::Bypass => f.write_str("the mode skips questions"),
            Reason::ReadOnly => f.write_str("it only reads"),
            Reason::Harmless => f.write_str("it only keeps the agent's own books"),
            Reason::PublicDocumentation { host } => write!(f, "`{host}` is public documentation"),
            Reason::AcceptedEdit => f.write_str("an edit inside the working directories"),
            Reason::Confined => f.write_str("it will run confined"),
            Reason::Silence { part: Some(part) } => write!(f, "`{}`: {}", part.text, part.why),
            Reason::Silence { part: None } => f.write_str("no rule and no mode speaks for it"),
            Reason::Hook { message } => write!(f, "hook: {message}"),
            Reason::NeverAsks { mode, because } => write!(f, "mode {mode} never asks ({because})"),
            Reason::SafeTool => f.write_str("a safe tool"),
            Reason::Risk { category, detail } => write!(f, "{category}: {detail}"),
            Reason::Classified { category: Some(category), message } => write!(f, "[{category}] {message}"),
            Reason::Classified { category: None, message } => f.write_str(message),
            Reason::ClassifierFailed { problem } => write!(f, "the classifier gave no answer: {problem}"),
            Reason::DenialLimit { in_a_row, total, because } => {
                write!(f, "{because} ({in_a_row} denials in a row, {total} in this session: automatic mode steps back)")
            }
            Reason::Unattended { because } => write!(f, "nobody is there to ask ({because})"),
            Reason::Person { comment: Some(comment) } => write!(f, "a person answered: {comment}"),
            Reason::Person { comment: None } => f.write_str("a person answered"),
            Reason::Lead { lead, because } => write!(f, "the lead `{lead}` may not either ({because})"),
            Reason::Vouched { lead, because } => write!(f, "the lead `{lead}` may do the same ({because})"),
            Reason::Bubbled { child, because } => write!(f, "asked by `{child}`: {because}"),
            Reason::Trouble { problem } => f.write_str(problem),
        }
    }
}

fn write_rules(f: &mut fmt::Formatter<'_>, rules: &[Arc<Entry>]) -> fmt::Result {
    for (index, rule) in rules.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{rule}")?;
    }
    Ok(())
}
