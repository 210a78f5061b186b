//! The classifier as the judge of cases. It is asked exactly as a session asks it; each case is a session of its own,
//! so a budget of settings holds for each case and not for all of them together.

use super::{Before, Case, Judge, Judged, Tokens};
use crate::classifier::{Classifier, Question, Transcript};

impl Judge for Classifier {
    async fn judge(&self, case: &Case) -> Judged {
        let (transcript, action) = (transcript(case), case.call());
        let judgement = Self::judge(self, Question::new(&transcript, &action)).await;
        let usage = judgement.usage;
        // What comes from a provider's cache was read as well.
        let input = [usage.input, usage.cache_write, usage.cache_read].into_iter().fold(0, u64::saturating_add);
        Judged { classified: judgement.classified, tokens: Tokens { input, output: usage.output } }
    }
}

fn transcript(case: &Case) -> Transcript {
    let mut transcript = Transcript::new(&case.workspace());
    for before in &case.context {
        match before {
            Before::Said(words) => transcript.user(words),
            Before::Called(call) => transcript.call(call),
        }
    }
    transcript
}
