//! What the classifier used: tokens, requests and money, kept for each session and apart from the agent's own.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What requests used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Requests that a server answered.
    pub requests: u64,
    /// Tokens read at the full price.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens put into the prompt cache.
    pub cache_write: u64,
    /// Tokens taken from the prompt cache.
    pub cache_read: u64,
}

impl Usage {
    /// All tokens.
    pub fn tokens(&self) -> u64 {
        [self.input, self.output, self.cache_write, self.cache_read].into_iter().fold(0, u64::saturating_add)
    }

    /// Adds another.
    pub fn add(&mut self, other: Usage) {
        self.requests = self.requests.saturating_add(other.requests);
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
    }
}

/// What judging one call used, as its record says it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// The model.
    pub model: String,
    /// Tokens and requests.
    #[serde(flatten)]
    pub usage: Usage,
    /// What it cost, in dollars, where the price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

impl Spent {
    /// What asking `model` used, and how long that took.
    pub fn on(model: &str, usage: Usage, took: Duration) -> Self {
        let usd = Price::of(model).map(|price| price.cost(&usage));
        Self { model: model.to_owned(), usage, usd, took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX) }
    }

    /// The same, with what was used before for the same call.
    pub fn after(mut self, before: Option<Spent>) -> Self {
        let Some(before) = before else { return self };
        self.usage.add(before.usage);
        self.took_ms = self.took_ms.saturating_add(before.took_ms);
        self.usd = self.usd.zip(before.usd).map(|(one, other)| one + other);
        self
    }
}

/// The books of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// What all requests used.
    pub usage: Usage,
    /// What they cost, in dollars, as far as prices are known.
    pub usd: f64,
    /// Tokens that no price is known for.
    pub unpriced: u64,
    /// Calls that were judged or failed.
    pub judged: u64,
}

impl Ledger {
    /// The books as they were kept: JSON text. Books that cannot be read start anew.
    pub fn of_text(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Books with what judging one call by `model` used.
    pub fn with(mut self, model: &str, usage: Usage) -> Self {
        self.usage.add(usage);
        self.judged += 1;
        match Price::of(model) {
            Some(price) => self.usd += price.cost(&usage),
            None => self.unpriced = self.unpriced.saturating_add(usage.tokens()),
        }
        self
    }

    /// As text, for keeping.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What a million tokens cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    input: f64,
    output: f64,
    cache_write: f64,
    cache_read: f64,
}

impl Price {
    /// The price of a model, if it is listed.
    pub fn of(model: &str) -> Option<Self> {
        let listed = include_str!("../../data/prices.txt").lines().filter(|line| !line.starts_with('#'));
        let mut known = listed.filter_map(|line| line.split_once(char::is_whitespace));
        let is_version = |rest: &str| rest.is_empty() || rest == "-latest" || rest.starts_with("-20");
        let (_, price) = known.find(|(name, _)| model.strip_prefix(name).is_some_and(is_version))?;
        let mut figures = price.split_whitespace().map(|figure| figure.parse::<f64>().ok());
        let mut next = || figures.next().flatten();
        Some(Self { input: next()?, output: next()?, cache_write: next()?, cache_read: next()? })
    }

    /// What this much use costs, in dollars.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let parts = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_write, self.cache_write),
            (usage.cache_read, self.cache_read),
        ];
        parts.iter().map(|(tokens, price)| *tokens as f64 * price / 1e6).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLION: u64 = 1_000_000;

    #[test]
    fn a_model_and_its_dated_versions_have_the_price_and_its_cousins_do_not() {
        let input = |model| Price::of(model).map(|price| price.input);
        assert_eq!(input("gpt-5-mini-2025-08-07"), Some(0.25));
        assert_eq!(input("gpt-5-2025-08-07"), Some(1.25));
        assert_eq!(input("claude-sonnet-4-5"), Some(3.0));
        assert_eq!(input("claude-3-5-haiku-latest"), Some(0.8));
        for unlisted in ["some-local-model", "gpt-5.1", "gpt-5-pro", "claude-opus-4-6", ""] {
            assert_eq!(input(unlisted), None, "{unlisted}");
        }
        for line in include_str!("../../data/prices.txt").lines().filter(|line| !line.starts_with('#')) {
            assert_eq!(line.split_whitespace().count(), 5, "{line}");
            assert!(input(line.split_whitespace().next().unwrap()).is_some(), "{line}");
        }
    }

    #[test]
    fn books_add_up_and_survive_being_kept() {
        let usage = Usage { requests: 2, input: MILLION, output: MILLION, cache_write: MILLION, cache_read: MILLION };
        let books = Ledger::default().with("claude-haiku-4-5", usage).with("mine", usage);
        assert_eq!((books.judged, books.usage.requests, books.unpriced), (2, 4, 4 * MILLION));
        assert!((books.usd - 7.35).abs() < 1e-9, "{}", books.usd);
        assert_eq!(Ledger::of_text(Some(&books.text())), books);
        assert_eq!(Ledger::of_text(Some("{broken")), Ledger::default());
    }

    #[test]
    fn what_a_call_used_is_told_with_its_price_where_that_is_known() {
        let usage = Usage { requests: 1, input: MILLION, ..Usage::default() };
        let spent = Spent::on("claude-haiku-4-5", usage, Duration::from_millis(40));
        let twice = spent.clone().after(Some(spent));
        assert_eq!((twice.usage.input, twice.took_ms), (2 * MILLION, 80));
        assert!(twice.usd.is_some_and(|usd| (usd - 2.0).abs() < 1e-9), "{twice:?}");
        let unpriced = Spent::on("mine", usage, Duration::ZERO);
        assert_eq!(twice.after(Some(unpriced)).usd, None, "a sum with an unknown part is unknown");
    }

    #[test]
    fn no_figure_of_a_server_overflows_the_books() {
        let most = Usage { requests: 1, input: u64::MAX, output: u64::MAX, cache_write: 1, cache_read: 1 };
        let books = Ledger::default().with("x", most).with("x", most);
        assert_eq!(books.usage.tokens(), u64::MAX);
    }
}
