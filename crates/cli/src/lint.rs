//! `mayi rules lint`, and `mayi lint`: what is wrong with settings, what it means, and the way to mend it.

use anyhow::Result;
use mayi_analysis::lint::{Fixed, fixes, lint, sarif};
use mayi_settings::lint::{article, articles};
use mayi_settings::nearest::nearest;
use mayi_settings::{Code, Problem, Severity, load};
use serde_json::json;

use crate::arguments::Lint;
use crate::exit::{Exit, usage};
use crate::{Out, paint, surroundings};

/// Mending one thing can show the next; so many times is more than enough.
const ROUNDS: usize = 8;

pub(crate) fn run(task: &Lint, out: Out<'_>) -> Result<Exit> {
    if let Some(code) = &task.explain {
        return explain(code, task, out);
    }
    if task.fix {
        return if task.dry_run { show_fixes(task, out) } else { fix(task, out) };
    }
    let problems = lint(&surroundings::loaded(&task.place)?);
    if task.json {
        writeln!(out, "{:#}", json!(problems))?;
    } else if task.sarif {
        writeln!(out, "{:#}", sarif(&problems))?;
    } else {
        print_problems(&problems, out)?;
    }
    Ok(exit_of(&problems))
}

/// Mends what can be mended, and reports what is left.
fn fix(task: &Lint, out: Out<'_>) -> Result<Exit> {
    let (places, given) = surroundings::sources(&task.place)?;
    let mut loaded = load(&places, &given);
    for _ in 0..ROUNDS {
        let fixed = fixes(&loaded)?;
        if fixed.is_empty() {
            break;
        }
        for file in &fixed {
            file.save(&places)?;
            writeln!(out, "mended {} in {}", rules(file.count), paint::visible(&file.file))?;
        }
        loaded = load(&places, &given);
    }
    let problems = lint(&loaded);
    print_problems(&problems, out)?;
    Ok(exit_of(&problems))
}

/// Shows what `--fix` would change first. Exit 1 when that is something.
fn show_fixes(task: &Lint, out: Out<'_>) -> Result<Exit> {
    let fixed = fixes(&surroundings::loaded(&task.place)?)?;
    for file in &fixed {
        write!(out, "{}", paint::visible(&file.diff()))?;
    }
    let count = fixed.iter().map(|file: &Fixed| file.count).sum();
    match fixed.is_empty() {
        true => writeln!(out, "nothing can be mended automatically")?,
        false => writeln!(out, "{} can be mended (mayi rules lint --fix)", rules(count))?,
    }
    Ok(if fixed.is_empty() { Exit::Done } else { Exit::Error })
}

fn rules(count: usize) -> String {
    format!("{count} rule{}", if count == 1 { "" } else { "s" })
}

fn explain(code: &str, task: &Lint, out: Out<'_>) -> Result<Exit> {
    let known = Code::ALL.into_iter().find(|known| known.word() == code);
    let Some(article) = known.and_then(article) else {
        let codes: Vec<_> = articles().map(|article| article.code.word()).collect();
        let near = nearest(code, codes.iter().copied()).map(|near| format!("did you mean `{near}`? "));
        let help = format!("{}there are {}", near.unwrap_or_default(), codes.join(", "));
        return Err(usage("lint", format!("there is no check `{}`\nhelp: {help}", paint::visible(code))));
    };
    if task.json {
        let page = json!({
            "code": article.code, "severity": article.code.severity(), "what": flowing(article.what),
            "layer": article.layer, "example": article.example, "mended": article.mended, "fix": flowing(article.fix),
        });
        writeln!(out, "{page:#}")?;
        return Ok(Exit::Done);
    }
    writeln!(out, "{}\n\n{}\n", paint::strong(article.code.word()), flowing(article.what))?;
    writeln!(out, "{} ({} settings)\n  {}\n", paint::strong("example"), article.layer, article.example)?;
    writeln!(out, "{}\n  {}\n\n{}", paint::strong("mended"), article.mended, flowing(article.fix))?;
    Ok(Exit::Done)
}

/// A paragraph without the line breaks of its file.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Notes are good to know and fail nobody's build.
fn exit_of(problems: &[Problem]) -> Exit {
    let is_bad = |problem: &Problem| problem.severity > Severity::Note;
    if problems.iter().any(is_bad) { Exit::Error } else { Exit::Done }
}

fn print_problems(problems: &[Problem], out: Out<'_>) -> Result<()> {
    // A repository's rules wait for trust together, so they are told of together.
    let (waiting, others): (Vec<&Problem>, Vec<&Problem>) =
        problems.iter().partition(|problem| problem.code == Code::NeedsTrust);
    for problem in &others {
        writeln!(out, "{}\n", paint::problem(problem))?;
    }
    match waiting.as_slice() {
        [] => {}
        [single] => writeln!(out, "{}\n", paint::problem(single))?,
        [first, ..] => {
            let mut together = (*first).clone();
            together.excerpt = None;
            together.message = format!(
                "{} rules and settings come with the repository and wait until its folder is trusted",
                waiting.len()
            );
            writeln!(out, "{}\n", paint::problem(&together))?;
        }
    }
    writeln!(out, "{}", summary(problems))?;
    Ok(())
}

fn summary(problems: &[Problem]) -> String {
    let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
    let counted = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| (count(severity), severity));
    let words: Vec<String> = counted
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, severity)| format!("{count} {}{}", severity.word(), if count == 1 { "" } else { "s" }))
        .collect();
    match problems.first() {
        None => "nothing is wrong".to_owned(),
        Some(first) => format!("{} (mayi rules lint --explain {})", words.join(", "), first.code),
    }
}
