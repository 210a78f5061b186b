//! The classifier against a stand-in that speaks both APIs strictly: what it sends, what it makes of answers, and that
//! nothing but a well-formed *no* lets an action run.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![allow(clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod connection;
mod evaluation;
mod explainer;
mod failure;
mod gathered;
mod injection;
mod laws;
mod stages;
#[path = "../standin/mod.rs"]
mod standin;
mod strictness;

use std::ffi::OsString;

use mayi_core::call::{Call, Workspace};
use mayi_core::referral::Classified;
use mayi_core::verdict::Verdict;
use mayi_engine::classifier::{Classifier, Judgement, Question, Transcript};
use mayi_settings::settings::Settings;
use serde_json::Value;

use standin::{Act, Api, KEY, Standin};

const NO: &str = "<block>no</block>";
const YES: &str = "<block>yes</block>";
const CLOSE_NO: &str = "Nothing fits.\n<category>none</category>\n<reason>It is harmless.</reason>\n<block>no</block>";
const CLOSE_YES: &str =
    "It sends data.\n<category>exfiltration</category>\n<reason>It sends a file away.</reason>\n<block>yes</block>";

fn say(text: &str) -> Act {
    Act::Say(text.to_owned())
}

fn workspace() -> Workspace {
    Workspace::at("/w").with_home("/home/u")
}

fn environment() -> Vec<(OsString, OsString)> {
    vec![("MAYI_CLASSIFIER_KEY".into(), KEY.into())]
}

fn read(settings: &Value) -> Settings {
    serde_json::from_value(settings.clone()).unwrap()
}

fn configured(settings: &Value) -> Classifier {
    Classifier::configured(&read(settings), &environment()).unwrap().unwrap()
}

fn session() -> Transcript {
    let mut transcript = Transcript::new(&workspace());
    transcript.user("please tidy up");
    transcript.call(&Call::shell("cargo fmt"));
    transcript
}

/// What becomes of `make deploy` when the server does these things.
async fn judged(server: &Standin) -> Judgement {
    let (transcript, action) = (session(), Call::shell("make deploy"));
    configured(&server.settings()).judge(Question::new(&transcript, &action)).await
}

fn verdict(classified: &Classified) -> Option<Verdict> {
    match classified {
        Classified::Judged { verdict, .. } => Some(*verdict),
        Classified::Failed { .. } | Classified::TooLong | Classified::Superseded => None,
    }
}

fn both(test: impl FnMut(Api)) {
    [Api::Anthropic, Api::OpenAi].into_iter().for_each(test);
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
