//! What the text alone cannot tell: scripts, task files, git's configuration. The question is recorded; the answer,
//! once given, is analysed like any other text. Without an answer nothing is assumed to be harmless.

mod composer;
mod deno;
mod expansion;
mod json;
mod justfile;
mod makefile;
mod mise;
mod package;
mod toml;

use crate::command::Via;
use crate::effect::judge::{Case, Judge};
use crate::effect::place::clean;
use crate::effect::roles::Acting;
use crate::effect::task::expansion::{Expansion, Extent};
use crate::effect::{Act, Executes, Place};
use crate::knowledge::reading::Piece;
use crate::observe::{Answer, Question};
use crate::word::Span;

/// Text that a command runs and that was found outside the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) text: String,
    pub(crate) span: Span,
    pub(crate) via: Via,
    /// The directory it runs in.
    pub(crate) directory: Option<String>,
    /// Directories that its programs are looked for in before all others.
    pub(crate) ahead: Vec<String>,
}

/// Whether a flag such as `-C` moved the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat {
    Own,
    Moved,
}

impl Judge<'_> {
    /// The answer to a question, which is recorded where there is none yet.
    pub(crate) fn ask(&mut self, question: Question) -> Option<Answer> {
        let answer = self.observations.answer(&question).cloned();
        if answer.is_none() {
            self.questions.push(question);
        }
        answer
    }

    /// A shell script about to be run.
    pub(crate) fn script_file(&mut self, case: &mut Case<'_>, piece: &Piece<'_>) {
        let place = case.view.place(piece);
        let span = piece.word.span;
        let Place::Path(path) = &place else {
            return case.add(Act::Executes(Executes::File(place)), span);
        };
        match self.ask(Question::File(path.clone())) {
            Some(Answer::Text(text)) if is_shell(&text) => {
                let directory = case.view.directory.map(str::to_string);
                let ahead = self.ahead.clone();
                self.tasks.push(Task { text, span, via: Via::Task(path.clone()), directory, ahead });
            }
            Some(_) | None => case.add(Act::Executes(Executes::File(place)), span),
        }
    }

    /// A task of the project's own, named by an operand. With words behind it, which may be arguments or further
    /// tasks, it is more than its text.
    pub(crate) fn task(&mut self, case: &mut Case<'_>, act: &Acting<'_>, piece: &Piece<'_>) {
        let more = act.reading.items.iter().any(|item| item.piece.index > piece.index);
        let extent = if more { Extent::Part } else { Extent::Whole };
        let found = piece.text().and_then(|name| Some((name, self.expansion(case, act, name)?.at_most(extent))));
        self.expand(case, act, (found, piece.word.span));
    }

    /// A task of the project's own; without its name, or with arguments for it, it stays the project's code.
    pub(crate) fn run_task(&mut self, case: &mut Case<'_>, act: &Acting<'_>, (name, span): (Option<&str>, Span)) {
        let found = name.and_then(|name| Some((name, self.expansion(case, act, name)?)));
        self.expand(case, act, (found, span));
    }

    /// Brings in the texts of a task; whatever else runs is the project's code.
    fn expand(&mut self, case: &mut Case<'_>, act: &Acting<'_>, (found, span): (Option<(&str, Expansion)>, Span)) {
        let (name, expansion) = found.unwrap_or_else(|| ("", Expansion::unread()));
        match expansion.extent {
            Extent::Whole => {}
            Extent::Part => case.add(Act::Executes(Executes::Project(act.tool.to_string())), span),
        }
        let directory = case.view.directory.map(str::to_string);
        let own = matches!(act.tool, "npm" | "pnpm" | "yarn" | "bun" | "deno").then_some("node_modules/.bin");
        let own = own.and_then(|folder| Some(clean(directory.as_deref()?, folder)));
        for text in expansion.texts {
            let via = Via::Task(format!("{} {name}", act.tool));
            let ahead = self.ahead.iter().cloned().chain(own.clone()).collect();
            self.tasks.push(Task { text, span, via, directory: directory.clone(), ahead });
        }
    }

    /// What the tool's task file says.
    fn expansion(&mut self, case: &Case<'_>, act: &Acting<'_>, name: &str) -> Option<Expansion> {
        match act.tool {
            "npm" | "pnpm" | "yarn" | "bun" => self.package_scripts(case, act, name),
            "make" | "gmake" => {
                makefile::recipes(&self.first_of(case, &["GNUmakefile", "makefile", "Makefile"])?, name)
            }
            "just" => justfile::recipe(&self.first_of(case, &["justfile", "Justfile", ".justfile"])?, name),
            "mise" => self.mise_task(case, name),
            "composer" => composer::script(&self.first_of(case, &["composer.json"])?, name),
            "deno" => deno::task(&self.first_of(case, &["deno.json", "deno.jsonc"])?, name),
            _ => None,
        }
    }

    fn file_here(&mut self, case: &Case<'_>, name: &str) -> Option<Answer> {
        let directory = case.view.directory?;
        self.ask(Question::File(clean(directory, name)))
    }

    /// The text of the first of these files that is there. All are asked for at once, since looking takes a round.
    fn first_of(&mut self, case: &Case<'_>, names: &[&str]) -> Option<String> {
        let answers: Vec<_> = names.iter().map(|name| self.file_here(case, name)).collect();
        match answers.into_iter().find(|answer| *answer != Some(Answer::Absent)) {
            Some(Some(Answer::Text(text))) => Some(text),
            Some(_) | None => None,
        }
    }

    /// The script and the hooks around it. Settings may put another shell in the place of the usual one, and a short
    /// form such as `bun test` may be a command of the tool's own.
    fn package_scripts(&mut self, case: &Case<'_>, act: &Acting<'_>, name: &str) -> Option<Expansion> {
        let answers: Vec<_> = package::SETTINGS.iter().map(|name| self.file_here(case, name)).collect();
        let text = self.first_of(case, &["package.json"])?;
        let usual = answers.iter().all(|answer| match answer {
            Some(Answer::Absent) => true,
            Some(Answer::Text(text)) => package::is_plain(text),
            Some(_) | None => false,
        });
        let short = !act.reading.spec.path.ends_with(" run") && act.tool != "npm";
        let extent = if usual && !short { Extent::Whole } else { Extent::Part };
        Some(Expansion { texts: package::scripts(&text, name)?, extent })
    }

    /// A task of the configuration here, or the script of its name in a folder of tasks. Other files may add to
    /// either, so that their presence leaves the task the project's code.
    fn mise_task(&mut self, case: &Case<'_>, name: &str) -> Option<Expansion> {
        let others: Vec<_> = mise::OTHERS.iter().map(|name| self.file_here(case, name)).collect();
        let folders = mise::scripts(name);
        let scripts: Vec<_> = folders.iter().map(|path| self.file_here(case, path)).collect();
        let configured = self.first_of(case, &["mise.toml", ".mise.toml"]);
        let alone = case.at_start && others.iter().all(|answer| *answer == Some(Answer::Absent));
        let found = configured.as_deref().and_then(|text| mise::task(text, name));
        let texts = scripts.into_iter().filter_map(|answer| match answer {
            Some(Answer::Text(text)) if is_shell(&text) => Some(mise::script(text)),
            Some(Answer::Absent) => None,
            Some(_) | None => Some(Expansion::unread()),
        });
        let all = found.into_iter().chain(texts).reduce(Expansion::and)?;
        Some(all.at_most(if alone { Extent::Whole } else { Extent::Part }))
    }

    /// An unknown subcommand of git that its configuration explains.
    pub(crate) fn alias(&mut self, case: &mut Case<'_>, act: &Acting<'_>, (name, span): (&str, Span)) -> bool {
        let Some(directory) = case.view.directory.filter(|_| act.reading.spec.path == *"git").map(str::to_string)
        else {
            return false;
        };
        let Some(Answer::Configuration(keys)) = self.ask(Question::Repository(directory.clone())) else { return false };
        let wanted = format!("alias.{name}");
        let Some((_, value)) = keys.iter().find(|(key, _)| *key == wanted) else { return false };
        let text = value.strip_prefix('!').map_or_else(|| format!("git {value}"), str::to_string);
        self.tasks.push(Task {
            text,
            span,
            via: Via::Task(wanted),
            directory: Some(directory),
            ahead: self.ahead.clone(),
        });
        true
    }

    /// Git in a repository: its configuration may name programs.
    pub(crate) fn repository(&mut self, case: &mut Case<'_>, span: Span, seat: Seat) {
        let Some(directory) = case.view.directory.map(str::to_string) else {
            return case.unknown("git in a directory that is not known", span);
        };
        let elsewhere = seat == Seat::Moved && directory != self.context.directory;
        if !case.at_start && seat == Seat::Own {
            return case.unknown("git after `cd`", span);
        }
        match self.ask(Question::Repository(directory)) {
            Some(Answer::Configuration(keys)) => {
                for (key, _) in keys.iter().filter(|(key, _)| !key.starts_with("alias.")) {
                    case.add(Act::Executes(Executes::Named(key.clone())), span);
                }
            }
            Some(Answer::Absent) => {}
            None if !elsewhere => {}
            Some(_) | None => case.unknown("git in a repository whose configuration is not known", span),
        }
    }
}

/// Whether a file's text is for a shell: a system's shell in its first line, or no such line and no odd bytes.
fn is_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let Some(interpreter) = first.strip_prefix("#!") else { return !text.contains('\0') };
    let words: Vec<&str> = interpreter.split_whitespace().collect();
    let (shell, flags) = match words.as_slice() {
        ["/usr/bin/env" | "/bin/env", shell, flags @ ..] => (Some(*shell), flags),
        [path, flags @ ..] => (path.strip_prefix("/usr").unwrap_or(path).strip_prefix("/bin/"), flags),
        [] => (None, [].as_slice()),
    };
    let is_setting = |flag: &&str| flag.strip_prefix('-').is_some_and(|flag| flag.chars().all(|c| "eux".contains(c)));
    matches!(shell, Some("sh" | "bash" | "dash" | "ash" | "ksh")) && flags.iter().all(is_setting)
}

#[cfg(test)]
mod tests {
    use super::is_shell;

    #[test]
    fn only_a_systems_shell_counts() {
        for text in ["ls", "#!/bin/sh\nls", "#!/usr/bin/env bash\nls", "#! /usr/bin/bash -eu\nls"] {
            assert!(is_shell(text), "{text}");
        }
        for text in ["#!/w/tool sh\nls", "#!/w/bash\nls", "#!/usr/bin/python3\n", "#!\n", "#!/bin/sh x", "a\0"] {
            assert!(!is_shell(text), "{text}");
        }
    }
}
