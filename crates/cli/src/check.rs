//! `mayi check`: decides a call, shows every step, changes nothing.

use std::io::{BufRead, BufWriter, Write};

use anyhow::{Context, Result};
use mayi_core::call::Call;
use mayi_core::catalogue;
use mayi_core::evaluation::{Evaluation, Progress};
use mayi_core::mode::Mode;
use mayi_core::policy::Policy;
use mayi_core::referral::{Answer, Referral};
use mayi_core::session::{Attendance, Availability, Session};
use mayi_core::trace::Finding;
use mayi_core::verdict::Decision;
use mayi_engine::batch::Batch;
use mayi_engine::confine;
use mayi_engine::observe::Machine;
use mayi_engine::observe_all;
use mayi_engine::remote::Haste;
use mayi_settings::Loaded;
use mayi_settings::document::Place;
use mayi_settings::nearest::nearest;
use mayi_settings::problem::Excerpt;
use serde_json::{Value, json};

use crate::arguments::Check;
use crate::exit::{Exit, usage};
use crate::subject::heading;
use crate::{Out, paint, surroundings};

pub(crate) fn run(check: &Check, out: Out<'_>) -> Result<Exit> {
    let loaded = surroundings::governed(&surroundings::sources(&check.place)?, Haste::Leisure)?.loaded;
    let words = Words {
        subcommand: "check",
        tool: check.tool.as_deref(),
        input: check.input.as_deref(),
        command: &check.command,
    };
    let call = call(&words, &loaded.policy)?;
    let session = session(check, &loaded)?;
    let writable = loaded.policy.workspace.directories().map(str::to_owned).collect();
    let machine = Machine::new(writable, &std::env::var_os("PATH").unwrap_or_default());
    let mut evaluation = Evaluation::begin(call, loaded.policy.clone(), session)?;
    while let Progress::Refer(Referral::Hooks) = observe_all(&mut evaluation, &machine) {
        evaluation.answer(Answer::Hooks(None));
    }
    let decision = evaluation.standing().context("nothing was decided")?;
    if check.json {
        print_json(&evaluation, decision, &loaded, out)?;
        return Ok(decision.verdict.into());
    }
    surroundings::report(&loaded);
    tell_of_unknown_tool(evaluation.call(), &loaded.policy);
    writeln!(out, "{}", heading(evaluation.call(), decision, &loaded.policy))?;
    print_trace(decision, out)?;
    if check.effects {
        print_effects(&evaluation, out)?;
    }
    Ok(decision.verdict.into())
}

/// One line in, one line out, never stopping at a bad one.
pub(crate) fn batch() -> Result<Exit> {
    let directory = surroundings::directory(None)?;
    let mut batch = Batch::new(&directory.display().to_string());
    let mut output = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).context("standard input cannot be read")? > 0 {
        let text = line.trim_ascii();
        if !text.is_empty() {
            writeln!(output, "{}", batch.answer(text))?;
        }
        line.clear();
    }
    output.flush()?;
    Ok(Exit::Done)
}

/// How a call is given on the command line.
pub(crate) struct Words<'a> {
    pub(crate) subcommand: &'static str,
    pub(crate) tool: Option<&'a str>,
    pub(crate) input: Option<&'a str>,
    pub(crate) command: &'a [String],
}

pub(crate) fn call(words: &Words<'_>, policy: &Policy) -> Result<Call> {
    let refused = |message: &str| Err(usage(words.subcommand, message));
    match (words.tool, words.input, command(words.command)) {
        (None | Some(_), Some(_), Some(_)) => refused("give a command or --input, not both"),
        (tool, Some(text), None) => Ok(Call::new(tool.unwrap_or("Bash"), input(words.subcommand, text)?)),
        (None, None, Some(command)) => Ok(Call::shell(&command)),
        (Some(tool), None, Some(text)) => match policy.tool(catalogue::present_name(tool)).field {
            Some(field) => Ok(Call::new(tool, json!({ field: text }))),
            None => refused(&format!("{}\nhelp: give its input as --input '{{…}}'", without_field(tool, policy))),
        },
        (Some(tool), None, None) => Ok(Call::new(tool, json!({}))),
        (None, None, None) => {
            refused(&format!("there is nothing to {0}\nhelp: mayi {0} 'git status'", words.subcommand))
        }
    }
}

/// `--input`, or where it stops being JSON.
fn input(subcommand: &'static str, text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| {
        let line = u32::try_from(error.line()).unwrap_or(1);
        // The parser counts bytes, a person letters.
        let bytes = error.column().saturating_sub(1);
        let whole = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
        let letters = whole.char_indices().take_while(|(at, _)| *at < bytes).count();
        let column = u32::try_from(letters).unwrap_or(0) + 1;
        let excerpt = Excerpt::at(text, Place { line, column, width: 1 });
        let shown = excerpt.map(|excerpt| format!("\n{}", excerpt.underlined(line))).unwrap_or_default();
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        usage(subcommand, format!("--input is no JSON: {what}\n  --> --input:{line}:{column}{shown}"))
    })
}

fn is_unknown(tool: &str, policy: &Policy) -> bool {
    let declared = policy.options.tools.iter().any(|declared| declared.name == tool);
    catalogue::built_in(tool).is_none() && !declared && catalogue::mcp_server(tool).is_none()
}

fn without_field(tool: &str, policy: &Policy) -> String {
    if is_unknown(tool, policy) { unknown_tool(tool, policy) } else { format!("`{tool}` has no primary field") }
}

fn unknown_tool(tool: &str, policy: &Policy) -> String {
    let built_in = catalogue::all().iter().map(|tool| tool.name);
    let declared = policy.options.tools.iter().map(|tool| tool.name.as_str());
    let near = nearest(tool, built_in.chain(declared)).map(|near| format!("; did you mean `{near}`?"));
    format!("`{}` is no tool that mayi knows{}", paint::visible(tool), near.unwrap_or_default())
}

fn tell_of_unknown_tool(call: &Call, policy: &Policy) {
    if is_unknown(&call.tool, policy) {
        paint::tell(format!("{}: {}", paint::caution("warning"), unknown_tool(&call.tool, policy)));
    }
}

/// One word is the command text itself; several are an argument list, quoted so that they stay what they are.
fn command(words: &[String]) -> Option<String> {
    match words {
        [] => None,
        [text] => Some(text.clone()),
        several => Some(several.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
    }
}

fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=:,@%+^~".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A session in the wanted mode. `check` only asks what would be, so every mode can be tried that settings permit.
fn session(check: &Check, loaded: &Loaded) -> Result<Session> {
    let policy = &loaded.policy;
    let mode = check.mode.or(policy.options.default_mode).unwrap_or_default();
    let attendance = if check.unattended { Attendance::Unattended } else { Attendance::Attended };
    let availability = Availability {
        bypass: mode == Mode::BypassPermissions,
        auto: mode == Mode::Auto,
        model: false,
        // As `mayi run` would do it here; looked for only where settings want it.
        sandbox: loaded.settings.sandbox.enabled && confine::available(loaded).is_ok(),
    };
    let session = Session { mode, attendance, availability, ..Session::default() };
    session.may_enter(mode, policy)?;
    Ok(session)
}

fn print_trace(decision: &Decision, out: Out<'_>) -> Result<()> {
    for (step, finding) in decision.trace.rows() {
        let name = format!("  {:<4} {:<18}", step.id(), step.name());
        match finding {
            None => writeln!(out, "{}", paint::quiet(format!("{name} -")))?,
            Some(Finding::Pass(note)) => {
                let row = format!("{name} pass   {}", paint::visible(&note.to_string()));
                writeln!(out, "{}", paint::quiet(row.trim_end()))?;
            }
            Some(Finding::Settle(verdict, reason)) => {
                let word = paint::verdict(*verdict, format!("{:<6}", verdict.word()));
                writeln!(out, "{name} {word} {}", paint::visible(&reason.to_string()).replace('\n', "\\n"))?;
            }
        }
    }
    Ok(())
}

fn print_effects(evaluation: &Evaluation, out: Out<'_>) -> Result<()> {
    let effects = &evaluation.inspection().effects;
    writeln!(out, "  {}", paint::strong("effects"))?;
    for effect in effects {
        writeln!(out, "    {}", paint::visible(&effect.to_string()))?;
    }
    if effects.is_empty() {
        writeln!(out, "    none")?;
    }
    Ok(())
}

fn print_json(evaluation: &Evaluation, decision: &Decision, loaded: &Loaded, out: Out<'_>) -> Result<()> {
    let effects: Vec<_> = evaluation.inspection().effects.iter().map(ToString::to_string).collect();
    let answer = json!({
        "tool": evaluation.call().tool,
        "verdict": decision.verdict,
        "step": decision.step,
        "reason": decision.reason,
        "message": decision.reason.to_string(),
        "terms": decision.terms,
        "trace": decision.trace,
        "effects": effects,
        "problems": loaded.problems(),
    });
    writeln!(out, "{answer:#}")?;
    Ok(())
}
