//! The chain as both stores keep it: where it stands, on which day a record counts, and reading it from its beginning.
//!
//! What protects a record is its link; numbers, days and the columns that lists are filtered by are compared with what
//! the links protect, never trusted.

use mayi_engine::audit::chain::Link;
use mayi_engine::remote::wire::Moment;

use super::{Members, Verified};

/// The milliseconds of a day.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// A place in the chain: a record's number and its link. Number 0 is the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) number: i64,
    pub(super) link: Link,
}

impl Place {
    /// The place after a record with this text.
    pub(super) fn next(self, text: &str) -> Place {
        Place { number: self.number + 1, link: self.link.next(text) }
    }
}

/// The day of a moment, counted from the beginning of the Unix clock.
pub(super) fn day_of(moment: Moment) -> i64 {
    signed(moment / DAY)
}

/// The day that a record counts to. INVARIANT: days never decrease along the chain, so that whole days can be dropped
/// from its front; a client's wrong clock neither opens an old day again nor keeps a future one for ever.
pub(super) fn day_in_chain(at: Moment, before: i64, today: i64) -> i64 {
    day_of(at).min(today).max(before)
}

/// A number for a database that knows signed ones only. A moment beyond them is no moment.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number from a database; a negative one was never written.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// A row of the chain as it is found, which may not be as it was written.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) number: i64,
    pub(super) kind: Option<String>,
    pub(super) session: Option<String>,
    pub(super) verdict: Option<String>,
    pub(super) text: Option<String>,
    pub(super) link: Option<Vec<u8>>,
}

/// Reads the chain from its beginning.
#[derive(Debug)]
pub(super) struct Walk {
    place: Place,
    records: u64,
    first: Option<u64>,
    broken: Option<(u64, String)>,
}

impl Walk {
    /// Begins after the last record that was forgotten.
    pub(super) fn after(forgotten: Place) -> Self {
        Self { place: forgotten, records: 0, first: None, broken: None }
    }

    /// Where it stands.
    pub(super) fn number(&self) -> i64 {
        self.place.number
    }

    /// Whether there is nothing more to look for.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Records were forgotten since it began; where they went beyond this place, it goes on behind them.
    pub(super) fn skip_forgotten(&mut self, forgotten: Place) {
        if forgotten.number > self.place.number {
            self.place = forgotten;
            self.first = None;
        }
    }

    /// Looks at the next record.
    pub(super) fn take(&mut self, found: &Found) {
        if self.is_broken() {
            return;
        }
        self.records += 1;
        match step(self.place, found) {
            Ok(next) => {
                self.first.get_or_insert(unsigned(next.number));
                self.place = next;
            }
            Err((number, problem)) => self.broken = Some((unsigned(number), problem)),
        }
    }

    /// There are no more records; the chain should end here.
    pub(super) fn end(mut self, head: Place) -> Verified {
        if self.broken.is_none() {
            if self.place.number < head.number {
                self.broken = Some((unsigned(self.place.number + 1), "it is missing".to_owned()));
            } else if self.place != head {
                self.broken = Some((unsigned(self.place.number), "it is not where the chain ended".to_owned()));
            }
        }
        Verified { records: self.records, broken: self.broken, first: self.first, head: self.place.link.to_string() }
    }
}

/// The place of a record, if it is what was written after the place before.
fn step(before: Place, found: &Found) -> Result<Place, (i64, String)> {
    let expected = before.number + 1;
    if found.number > expected {
        return Err((expected, "it is missing".to_owned()));
    }
    let broken = |problem: &str| Err((found.number, problem.to_owned()));
    if found.number < expected {
        return broken("it was never written there");
    }
    let (Some(text), Some(link)) = (&found.text, &found.link) else {
        return broken("it cannot be read");
    };
    let next = before.next(text);
    if next.link.bytes().as_slice() != link.as_slice() {
        return broken("its link does not follow from its text and the record before it");
    }
    match disagreement(found, text) {
        None => Ok(next),
        Some(member) => broken(&format!("the `{member}` it is listed under is not the one in its text")),
    }
}

/// The first column that says something else than the text. A text that says nothing of it leaves it free.
fn disagreement(found: &Found, text: &str) -> Option<&'static str> {
    let members: Members<'_> = serde_json::from_str(text).ok()?;
    let columns = [
        ("kind", &found.kind, members.kind),
        ("session", &found.session, members.session),
        ("verdict", &found.verdict, members.verdict),
    ];
    let differs = |column: &Option<String>, word: &str| column.as_deref().unwrap_or_default() != word;
    columns.into_iter().find(|(_, column, word)| word.as_ref().is_some_and(|word| differs(column, word))).map(|it| it.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: Place = Place { number: 0, link: Link::START };

    fn chain_of(texts: &[String]) -> (Vec<Found>, Place) {
        let mut place = START;
        let found = texts.iter().map(|text| {
            place = place.next(text);
            let (text, link) = (Some(text.clone()), Some(place.link.bytes().to_vec()));
            Found { number: place.number, kind: None, session: None, verdict: None, text, link }
        });
        (found.collect(), place)
    }

    fn read(found: &[Found], head: Place) -> Verified {
        let mut walk = Walk::after(START);
        found.iter().for_each(|found| walk.take(found));
        walk.end(head)
    }

    proptest! {
        #[test]
        fn whatever_is_changed_is_found_where_it_is(
            texts in proptest::collection::vec("[a-z]{0,6}", 2..12),
            place in any::<prop::sample::Index>(),
            new in "[A-Z]{0,6}",
        ) {
            let (found, head) = chain_of(&texts);
            prop_assert_eq!(read(&found, head).broken, None);
            let at = place.index(found.len());
            let named = |found: &[Found]| read(found, head).broken.map(|(number, _)| number);
            let number = Some(u64::try_from(at).unwrap() + 1);

            let mut removed = found.clone();
            removed.remove(at);
            prop_assert_eq!(named(&removed), number);
            // The numbers of those behind it made to fit, so that only links tell.
            let mut closed = removed;
            closed.iter_mut().zip(1..).for_each(|(found, number)| found.number = number);
            prop_assert!(named(&closed) >= number);

            if Some(&new) != found[at].text.as_ref() {
                let mut changed = found.clone();
                changed[at].text = Some(new.clone());
                prop_assert_eq!(named(&changed), number);
                // The link made to fit as well: the next one tells, or the head.
                changed[at].link = Some(START.next(&new).link.bytes().to_vec());
                prop_assert!(named(&changed).is_some());
            }

            let mut put_in = found.clone();
            put_in.insert(at, Found { text: Some(format!("{new}!")), ..found[at].clone() });
            put_in.iter_mut().zip(1..).for_each(|(found, number)| found.number = number);
            prop_assert_eq!(named(&put_in), number);
        }
    }

    #[test]
    fn a_record_counts_to_a_day_that_never_goes_back_and_never_lies_ahead() {
        // When it says it happened, the day before it in the chain, today; the day it counts to.
        let table = [(5 * DAY, -1, 9, 5), (5 * DAY + 7, 6, 9, 6), (50 * DAY, 6, 9, 9), (0, -1, 9, 0), (DAY, 12, 9, 12)];
        for (at, before, today, day) in table {
            assert_eq!(day_in_chain(at, before, today), day, "{at} after {before} on {today}");
        }
    }

    #[test]
    fn columns_must_say_what_the_text_says() {
        let text = r#"{"kind":"decision","session":"s1","verdict":"deny"}"#;
        let found = |kind: &str, session: Option<&str>, verdict: &str| Found {
            number: 1,
            kind: Some(kind.to_owned()),
            session: session.map(str::to_owned),
            verdict: Some(verdict.to_owned()),
            text: Some(text.to_owned()),
            link: Some(Link::START.next(text).bytes().to_vec()),
        };
        let look = |found: Found| step(START, &found).map(|_| ()).map_err(|(_, problem)| problem);
        assert_eq!(look(found("decision", Some("s1"), "deny")), Ok(()));
        assert!(look(found("run", Some("s1"), "deny")).is_err_and(|problem| problem.contains("`kind`")));
        assert!(look(found("decision", None, "deny")).is_err_and(|problem| problem.contains("`session`")));
        assert!(look(found("decision", Some("s1"), "allow")).is_err_and(|problem| problem.contains("`verdict`")));
    }
}
