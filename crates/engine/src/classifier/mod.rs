//! The classifier: a model that answers in auto mode what rules and the static analysis leave open.
//!
//! It sees the user's words and the agent's calls, never the agent's prose or what tools answered. One prompt, two
//! stages: a quick look that errs towards blocking, and a closer one only for what the first would stop. An action
//! runs only after a well-formed *no* of a stage; every other answer, and no answer, stops it or asks a person.

mod answer;
mod anthropic;
pub mod claude_code;
mod client;
mod configure;
mod failure;
pub mod ledger;
mod object;
mod openai;
mod prompt;
mod transcript;

use std::time::{Duration, SystemTime};

use mayi_core::call::Call;
use mayi_core::referral::Classified;
use mayi_core::verdict::Verdict;
use mayi_settings::settings::Budget;
use tokio::time::{Instant, sleep};

pub use claude_code::Gathered;
pub use client::{Problem, Provider};
pub use configure::Misconfigured;
pub use failure::Flag;
pub use ledger::{Ledger, Spent, Usage};
pub use mayi_identity::Environment;
pub use prompt::Standards;
pub use transcript::{BUDGET, Extent, Transcript, action};

pub(crate) use answer::for_people;
pub(crate) use anthropic::Tokens as AnthropicTokens;
pub(crate) use client::Client;
pub(crate) use object::Object;
pub(crate) use openai::Tokens as OpenAiTokens;
pub(crate) use transcript::escape;

use answer::Said;
use failure::Leniency;
use prompt::{Prompt, Stage};

/// How often it is looked whether the question still stands.
const TICK: Duration = Duration::from_millis(100);

/// A classifier. Keep it: it keeps its connections.
#[derive(Debug)]
pub struct Classifier {
    client: Client,
    standards: Standards,
    leniency: Leniency,
    budget: Budget,
}

/// What is to be judged.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The session so far.
    pub transcript: &'a Transcript,
    /// The action.
    pub action: &'a Call,
    /// What the session has used so far.
    pub spent: Ledger,
    /// The flag as it was kept after the last question.
    pub flag: Option<Flag>,
    /// How long the answer may take in all.
    pub within: Option<Duration>,
    /// Whether the question still stands. The mode may change while the model thinks.
    pub stands: &'a (dyn Fn() -> bool + Send + Sync),
}

impl<'a> Question<'a> {
    /// A question of a session that has used nothing yet, and that stands until it is answered.
    pub fn new(transcript: &'a Transcript, action: &'a Call) -> Self {
        Self { transcript, action, spent: Ledger::default(), flag: None, within: None, stands: &|| true }
    }
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// For the core.
    pub classified: Classified,
    /// What it used.
    pub usage: Usage,
    /// How many stages were begun.
    pub stages: u8,
    /// How long it took.
    pub took: Duration,
    /// The flag to keep for the next question.
    pub flag: Option<Flag>,
}

/// What a provider answered: text, if it is one that counts, and what it used.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reply {
    text: Option<String>,
    usage: Usage,
}

/// What was used on the way; it counts even if the answer does not.
#[derive(Default)]
struct Way {
    usage: Usage,
    stages: u8,
}

impl Classifier {
    /// The model's name.
    pub fn model(&self) -> &str {
        &self.client.model
    }

    /// What it judges by.
    pub fn standards(&self) -> &Standards {
        &self.standards
    }

    /// Judges an action. Dropping the future ends the request.
    pub async fn judge(&self, question: Question<'_>) -> Judgement {
        let begun = Instant::now();
        let mut way = Way::default();
        let answered = {
            let mut looking = std::pin::pin!(self.look(&question, &mut way));
            loop {
                tokio::select! {
                    answered = &mut looking => break Some(answered),
                    () = sleep(TICK) => if !(question.stands)() { break None },
                }
            }
        };
        let mut flag = question.flag;
        let classified = match answered.filter(|_| (question.stands)()) {
            None => Classified::Superseded,
            Some(Ok(classified)) => classified,
            Some(Err(Problem::TooLong)) => Classified::TooLong,
            Some(Err(problem)) => {
                let (then, kept) = self.leniency.on_failure(flag, SystemTime::now()).await;
                flag = kept;
                Classified::Failed { problem: format!("`{}`: {problem}", self.client.model), then }
            }
        };
        Judgement { classified, usage: way.usage, stages: way.stages, took: begun.elapsed(), flag }
    }

    /// Both stages. A quick *no* is enough to let the action run; whatever else the first look says, a second follows.
    async fn look(&self, question: &Question<'_>, way: &mut Way) -> Result<Classified, Problem> {
        self.check_budget(&question.spent)?;
        if question.transcript.extent() == Extent::Behind {
            return Err(Problem::Behind);
        }
        let prompt = Prompt::new(&self.standards, question.transcript, question.action).ok_or(Problem::TooLong)?;
        let within = question.within.unwrap_or(self.client.timeout.saturating_mul(3));
        let deadline = Instant::now() + within;
        let quick = self.ask(&prompt, (Stage::One, deadline), way).await?;
        if quick.as_deref().map(answer::stage_one) == Some(Said::No) {
            return Ok(judged(Verdict::Allow, None, format!("`{}` sees nothing to stop", self.client.model)));
        }
        let close = self.ask(&prompt, (Stage::Two, deadline), way).await?;
        Ok(match close.map_or(Said::Unclear, |text| answer::stage_two(&text, &self.standards)) {
            Said::No => judged(Verdict::Allow, None, format!("`{}` sees nothing to stop", self.client.model)),
            Said::Yes { category, reason } if reason.is_empty() => {
                judged(Verdict::Deny, category, "the classifier stopped it and gave no reason".to_owned())
            }
            Said::Yes { category, reason } => judged(Verdict::Deny, category, reason),
            Said::Unclear => judged(
                Verdict::Deny,
                None,
                "auto mode could not evaluate this action, so it is stopped for safety".to_owned(),
            ),
        })
    }

    /// The text of one stage; `None` when what came back is no answer.
    async fn ask(
        &self,
        prompt: &Prompt<'_>,
        (stage, deadline): (Stage, Instant),
        way: &mut Way,
    ) -> Result<Option<String>, Problem> {
        way.stages += 1;
        let client = &self.client;
        let body = match client.provider {
            Provider::Anthropic => anthropic::request(&client.model, prompt, stage),
            Provider::OpenAi => openai::request(&client.model, prompt, (stage, client.length())),
        };
        let read = match client.provider {
            Provider::Anthropic => anthropic::read,
            Provider::OpenAi => openai::read,
        };
        match client.send(&body, deadline).await.and_then(|answer| read(&answer)) {
            Ok(reply) => {
                way.usage.add(reply.usage);
                Ok(reply.text)
            }
            Err(Problem::Unreadable) => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    fn check_budget(&self, spent: &Ledger) -> Result<(), Problem> {
        match self.budget {
            Budget { tokens: Some(most), .. } if spent.usage.tokens() >= most => {
                Err(Problem::Budget(format!("{most} tokens")))
            }
            Budget { usd: Some(most), .. } if spent.usd >= most => Err(Problem::Budget(format!("{most} dollars"))),
            Budget { .. } => Ok(()),
        }
    }
}

fn judged(verdict: Verdict, category: Option<String>, message: String) -> Classified {
    Classified::Judged { verdict, category, message }
}
