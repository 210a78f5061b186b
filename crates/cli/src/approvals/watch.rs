//! Questions as they come, each shown and answered at the terminal. Whatever is not clearly an answer is none.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use anyhow::{Context, Result};
use mayi_core::policy::Layer;
use mayi_core::verdict::Verdict;
use mayi_engine::remote::client::Client;
use mayi_engine::remote::wire::{Approval, Remember, State};

use super::{WITHIN, Wanted, shown};
use crate::exit::Exit;
use crate::{Out, paint};

/// How often the server is asked for more.
const EVERY: Duration = Duration::from_secs(1);

/// The person at the terminal.
struct Terminal {
    reading: BufReader<File>,
    writing: anstream::AutoStream<File>,
}

/// What a person chose.
enum Choice {
    Answer(Wanted),
    Trace,
    Later,
    Quit,
    Again,
}

impl Terminal {
    fn open() -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty");
        let file =
            file.context("there is no terminal to ask at\nhelp: mayi approvals list, and allow or deny by name")?;
        Ok(Self { writing: anstream::AutoStream::auto(file.try_clone()?), reading: BufReader::new(file) })
    }

    fn say(&mut self, text: &str) -> Result<()> {
        writeln!(self.writing, "{text}")?;
        Ok(())
    }

    /// A line that the person typed; `None` when they left.
    fn ask(&mut self, question: &str) -> Result<Option<String>> {
        write!(self.writing, "{question} ")?;
        self.writing.flush()?;
        let mut line = String::new();
        Ok((self.reading.read_line(&mut line)? > 0).then(|| line.trim().to_owned()))
    }
}

/// Shows every question once, and takes its answer, until the person leaves.
pub(super) async fn watch(client: &Client, out: Out<'_>) -> Result<Exit> {
    let mut terminal = Terminal::open()?;
    let mut seen = HashSet::new();
    terminal.say(&paint::quiet(format!("questions at {} come up here; Ctrl-C ends", client.host())))?;
    loop {
        let waiting = client.questions(Some(State::Pending), WITHIN).await?;
        for approval in waiting {
            if !seen.insert(approval.id.clone()) {
                continue;
            }
            terminal.say(&format!("\n{}", shown::whole(&approval)))?;
            let Some(wanted) = choose(&mut terminal, &approval)? else { return Ok(Exit::Done) };
            let Some(wanted) = wanted else { continue };
            match client.answer(&approval.id, &wanted.about(&approval), WITHIN).await {
                Ok(settled) => writeln!(out, "{}", shown::outcome(&settled))?,
                Err(error) => paint::tell(format!("{}: {}", paint::alarm("error"), paint::visible(&error.to_string()))),
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Asks until there is an answer, or none is wanted; `None` when the person leaves.
fn choose(terminal: &mut Terminal, approval: &Approval) -> Result<Option<Option<Wanted>>> {
    loop {
        let keys = "[a]llow once  for the [s]ession  al[w]ays  [d]eny  [t]race  [k]eep waiting  [q]uit:";
        let Some(line) = terminal.ask(keys)? else { return Ok(None) };
        let choice = match line.to_ascii_lowercase().as_str() {
            "a" => Choice::Answer(Wanted { verdict: Verdict::Allow, ..Wanted::no() }),
            "s" => remembered(terminal, approval, Remember::Session)?,
            "w" => remembered(terminal, approval, Remember::Always)?,
            "d" => {
                let comment = terminal.ask("what is the agent told? (may be empty)")?.filter(|text| !text.is_empty());
                Choice::Answer(Wanted { comment, ..Wanted::no() })
            }
            "t" => Choice::Trace,
            "k" => Choice::Later,
            "q" => Choice::Quit,
            _ => Choice::Again,
        };
        match choice {
            Choice::Answer(wanted) => return Ok(Some(Some(wanted))),
            Choice::Trace => terminal.say(&shown::trace(&approval.question))?,
            Choice::Later => return Ok(Some(None)),
            Choice::Quit => return Ok(None),
            Choice::Again => {}
        }
    }
}

/// The rule that goes with an answer, chosen from those that were offered.
fn remembered(terminal: &mut Terminal, approval: &Approval, remember: Remember) -> Result<Choice> {
    let fits = |layer: &&Layer| (**layer == Layer::Session) == (remember == Remember::Session);
    let offers = approval.question.offers.iter();
    let all: Vec<(&str, Layer)> =
        offers.flat_map(|offer| offer.layers.iter().filter(fits).map(|layer| (offer.rule.as_str(), *layer))).collect();
    if all.is_empty() {
        terminal.say("no rule is offered for that; it can be allowed once")?;
        return Ok(Choice::Again);
    }
    for (number, (rule, layer)) in all.iter().enumerate() {
        terminal.say(&format!("  {}  {}  in {layer} settings", number + 1, paint::visible(rule)))?;
    }
    let line = terminal.ask("which? (a number; anything else goes back)")?.unwrap_or_default();
    let chosen = line.parse::<usize>().ok().and_then(|number| all.get(number.checked_sub(1)?));
    let Some((rule, layer)) = chosen else { return Ok(Choice::Again) };
    let wanted = Wanted { rule: Some((*rule).to_owned()), layer: Some(*layer), remember, ..Wanted::no() };
    Ok(Choice::Answer(Wanted { verdict: Verdict::Allow, ..wanted }))
}
