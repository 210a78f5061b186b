//! What the model behind auto mode was asked, and what that used, as the records of its decisions say it. A record that
//! says nothing is counted as such: figures are of what was told.

use std::collections::BTreeMap;

use mayi_engine::classifier::Spent;
use mayi_engine::remote::wire::Moment;
use serde::Serialize;

/// How often the classifier was asked, and what that used.
#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
pub(super) struct ClassifierUse {
    /// Calls that it was asked about.
    calls: u64,
    /// Those whose records do not say what was used.
    untold: u64,
    /// What the others used, by model.
    models: Vec<ModelUse>,
    /// Over time.
    over_time: Vec<Asked>,
}

/// What one model used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, utoipa::ToSchema)]
struct ModelUse {
    /// Its name.
    model: String,
    /// Calls that it was asked about.
    calls: u64,
    /// Requests to it.
    requests: u64,
    /// Tokens that it read, from the cache or not.
    input_tokens: u64,
    /// Tokens that it wrote.
    output_tokens: u64,
    /// What it cost, in dollars; nothing where its price is not known.
    usd: Option<f64>,
    /// How long it was waited for, in milliseconds.
    took_ms: u64,
}

/// Calls that the classifier was asked about in a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, utoipa::ToSchema)]
struct Asked {
    at: Moment,
    calls: u64,
    /// What they cost in dollars, as far as prices are known.
    usd: f64,
}

/// Counts while records are read.
pub(super) struct Books {
    untold: u64,
    models: BTreeMap<String, ModelUse>,
    over_time: Vec<Asked>,
}

impl Books {
    /// Empty ones, with a column that begins at each of these moments.
    pub(super) fn over(moments: impl Iterator<Item = Moment>) -> Self {
        let over_time = moments.map(|at| Asked { at, ..Asked::default() }).collect();
        Self { untold: 0, models: BTreeMap::new(), over_time }
    }

    /// Takes in a call that the classifier was asked about, in its column.
    pub(super) fn note(&mut self, column: usize, spent: Option<&Spent>) {
        if let Some(asked) = self.over_time.get_mut(column) {
            asked.calls += 1;
            asked.usd += spent.and_then(|spent| spent.usd).unwrap_or_default();
        }
        let Some(Spent { model, usage, usd, took_ms }) = spent else {
            self.untold += 1;
            return;
        };
        let of_model = self.models.entry(model.clone()).or_insert_with(|| ModelUse {
            model: model.clone(),
            usd: usd.map(|_| 0.0),
            ..ModelUse::default()
        });
        let read = [usage.input, usage.cache_write, usage.cache_read];
        of_model.calls += 1;
        of_model.requests = of_model.requests.saturating_add(usage.requests);
        of_model.input_tokens = read.into_iter().fold(of_model.input_tokens, u64::saturating_add);
        of_model.output_tokens = of_model.output_tokens.saturating_add(usage.output);
        of_model.took_ms = of_model.took_ms.saturating_add(*took_ms);
        // A sum with an unknown part is unknown.
        of_model.usd = of_model.usd.zip(*usd).map(|(sum, more)| sum + more);
    }

    pub(super) fn close(self) -> ClassifierUse {
        let told: u64 = self.models.values().map(|model| model.calls).sum();
        ClassifierUse {
            calls: told + self.untold,
            untold: self.untold,
            models: self.models.into_values().collect(),
            over_time: self.over_time,
        }
    }
}

#[cfg(test)]
mod tests {
    use mayi_engine::classifier::Usage;

    use super::*;

    fn spent(model: &str, usd: Option<f64>) -> Spent {
        let usage = Usage { requests: 2, input: 100, output: 3, cache_read: 50, ..Usage::default() };
        Spent { model: model.to_owned(), usage, usd, took_ms: 400 }
    }

    #[test]
    fn what_was_told_adds_up_and_what_was_not_is_counted_apart() {
        let mut books = Books::over([10, 20].into_iter());
        books.note(0, Some(&spent("dear", Some(0.25))));
        books.note(1, Some(&spent("dear", Some(0.5))));
        books.note(1, Some(&spent("own", None)));
        books.note(1, None);
        books.note(9, None);
        let found = books.close();
        assert_eq!((found.calls, found.untold), (5, 2));
        let [dear, own] = found.models.as_slice() else { panic!("{found:?}") };
        assert_eq!((dear.calls, dear.requests, dear.input_tokens, dear.output_tokens), (2, 4, 300, 6));
        assert_eq!((dear.usd, dear.took_ms, own.usd, own.took_ms), (Some(0.75), 800, None, 400));
        assert_eq!(found.over_time, [Asked { at: 10, calls: 1, usd: 0.25 }, Asked { at: 20, calls: 3, usd: 0.5 }]);
    }

    #[test]
    fn a_price_that_is_known_for_a_part_is_not_told_as_the_whole() {
        let mut books = Books::over(std::iter::empty());
        books.note(0, Some(&spent("m", Some(0.5))));
        books.note(0, Some(&spent("m", None)));
        assert_eq!(books.close().models.first().map(|model| model.usd), Some(None));
    }
}
