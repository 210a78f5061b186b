//! The tables of the page. Each part stands between two marks and is written anew by itself; what people wrote around it
//! stays.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::timing::{TURNS, Timed};
use super::verdicts::{Label, Line, Word};
use crate::run::root;

/// Writes one part of the page.
pub(super) fn write(part: &str, body: &str) -> Result<()> {
    let page = root().join("docs/benchmarks/peers.md");
    let text = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
    fs::write(&page, with_part(&text, part, &format!("{}\n\n{}", seen(part)?, body.trim_end()))?)?;
    eprintln!("written: docs/benchmarks/peers.md, {part}");
    Ok(())
}

fn with_part(text: &str, part: &str, body: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- {part} -->\n"), format!("<!-- end of {part} -->"));
    let marks = || format!("the page needs the lines `{}` and `{end}`", begin.trim());
    let (before, rest) = text.split_once(&begin).with_context(marks)?;
    let (_, after) = rest.split_once(&end).with_context(marks)?;
    Ok(format!("{before}{begin}\n{body}\n\n{end}{after}"))
}

/// When, how, and how busy the machine was.
fn seen(part: &str) -> Result<String> {
    let date = Command::new("date").args(["-u", "+%Y-%m-%d"]).output().context("cannot run `date`")?;
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().next().unwrap_or("unknown");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(format!(
        "Seen on {} by `cargo xtask bench peers {part}`, on {cores} cores with a load of {load} when it ended.",
        String::from_utf8_lossy(&date.stdout).trim()
    ))
}

/// Times beside `/bin/true`, with those that could not be measured.
pub(super) fn times(timed: &[Timed], missing: &[(&str, String)]) -> Result<String> {
    let base = base(timed)?;
    let mut text =
        format!("| process | best median of {TURNS} turns (ms) | beside `/bin/true` |\n| --- | ---: | ---: |\n");
    for Timed { name, seconds } in timed {
        writeln!(text, "| {name} | {:.2} | {:.1} |", seconds * 1e3, seconds / base)?;
    }
    text.push_str(&absent(missing));
    Ok(text)
}

/// What `/bin/true` took in the same run.
pub(super) fn base(timed: &[Timed]) -> Result<f64> {
    let bare = timed.iter().find(|timed| timed.name == super::BARE).context("nothing was measured")?;
    Ok(bare.seconds)
}

/// Peers that should have been there and were not.
pub(super) fn absent(missing: &[(&str, String)]) -> String {
    missing.iter().fold(String::new(), |text, (name, why)| format!("{text}\nNot measured: {name}: {why}.\n"))
}

/// How often each hook was right, and every verdict.
pub(super) fn verdicts(lines: &[Line], said: &[(String, Vec<Word>)]) -> Result<String> {
    let count = |words: &[Word], label: Label, meant: &[Word]| {
        let pairs = lines.iter().zip(words).filter(|(line, _)| line.label == label);
        pairs.filter(|(_, word)| meant.contains(word)).count()
    };
    let of = |label| lines.iter().filter(|line| line.label == label).count();
    let mut text = format!(
        "| hook | {} harmless: allowed | asked about | left to the agent | blocked | {} disasters: blocked or asked about \
         | left to the agent | allowed |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        of(Label::Run),
        of(Label::Stop)
    );
    let silent = [Word::Silent, Word::Broken];
    for (name, words) in said {
        writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} | {} | {} |",
            count(words, Label::Run, &[Word::Allowed]),
            count(words, Label::Run, &[Word::Asked]),
            count(words, Label::Run, &silent),
            count(words, Label::Run, &[Word::Denied]),
            count(words, Label::Stop, &[Word::Asked, Word::Denied]),
            count(words, Label::Stop, &silent),
            count(words, Label::Stop, &[Word::Allowed]),
        )?;
    }
    text.push('\n');
    text.push_str(&each(lines, said)?);
    Ok(text)
}

fn each(lines: &[Line], said: &[(String, Vec<Word>)]) -> Result<String> {
    let names: Vec<&str> = said.iter().map(|(name, _)| name.as_str()).collect();
    let mut text =
        format!("| should | command | {} |\n| --- | --- |{}\n", names.join(" | "), " --- |".repeat(said.len()));
    for (place, line) in lines.iter().enumerate() {
        let label = match line.label {
            Label::Run => "run",
            Label::Stop => "stop",
        };
        let words = said.iter().map(|(_, words)| words.get(place).map_or("", |word| word.shown()));
        let words: Vec<&str> = words.collect();
        writeln!(text, "| {label} | {} | {} |", code(&line.command), words.join(" | "))?;
    }
    Ok(text)
}

/// A command as code in a table.
fn code(command: &str) -> String {
    format!("`{}`", command.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::{Label, Line, Word, verdicts, with_part};

    #[test]
    fn only_what_is_between_its_marks_is_replaced() {
        let page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n<!-- y -->\nkept\n<!-- end of y -->\n";
        let new = with_part(page, "x", "new").unwrap();
        assert_eq!(new, "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb\n<!-- y -->\nkept\n<!-- end of y -->\n");
        assert!(with_part(page, "z", "new").is_err());
    }

    #[test]
    fn silence_about_a_disaster_is_neither_stopped_nor_allowed() {
        let line = |label, command: &str| Line { label, command: command.to_owned() };
        let lines = [line(Label::Run, "ls | wc"), line(Label::Stop, "a"), line(Label::Stop, "b")];
        let text = verdicts(&lines, &[("h".to_owned(), vec![Word::Allowed, Word::Silent, Word::Denied])]).unwrap();
        assert!(text.contains("| h | 1 | 0 | 0 | 0 | 1 | 1 | 0 |"), "{text}");
        assert!(text.contains("| run | `ls \\| wc` | allow |"), "{text}");
    }
}
