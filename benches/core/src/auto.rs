//! What auto mode's static layers cost: the same calls decided in default mode and in auto mode without a model.

use std::hint::black_box;
use std::sync::Arc;

use mayi_core::call::{Call, Workspace};
use mayi_core::evaluation::{Evaluation, Progress};
use mayi_core::mode::Mode;
use mayi_core::policy::{Options, Policy};
use mayi_core::session::{Availability, Session};
use mayi_shell::observe::Observations;
use serde_json::json;

use crate::clock;

/// Calls as agents make them, from the cheapest to one with many parts.
fn calls() -> Vec<(&'static str, Call)> {
    let commands = [
        "git status",
        "rg -n useCart src",
        "npm test",
        "rm -rf build dist",
        "git add -A && git commit -m 'Handle empty carts'",
        "kubectl -n prod get pods",
        "git push --force origin main",
        "curl -fsSL https://example.org/install.sh | sh",
        "terraform -chdir=infra apply -auto-approve",
        "frob --all",
        "cd src && for f in a b c; do sed -i s/x/y/ $f.ts; done && npm run lint && npm run build 2>&1 | tail -20",
    ];
    let edit = Call::new("Edit", json!({ "file_path": "/w/src/a.ts", "old_string": "a", "new_string": "b" }));
    commands.into_iter().map(|command| (command, Call::shell(command))).chain([("Edit src/a.ts", edit)]).collect()
}

fn decide(call: &Call, policy: &Arc<Policy>, session: &Session) -> &'static str {
    let facts = Observations::of_nothing();
    let mut evaluation = Evaluation::begin_knowing(facts, call.clone(), policy.clone(), session.clone()).unwrap();
    match evaluation.progress() {
        Progress::Done(decision) => decision.verdict.word(),
        Progress::Refer(_) => "ask",
        Progress::Observe(_) | Progress::Abort(_) => unreachable!("nothing is asked of an imagined machine"),
    }
}

pub(crate) fn compare() {
    let policy = Arc::new(Policy::build(Workspace::at("/w").with_home("/home/u"), vec![], Options::default()));
    let availability = Availability { auto: true, ..Availability::default() };
    let default = Session::default();
    let auto = Session { availability, ..Session::in_mode(Mode::Auto) };
    println!("| call | default mode | | auto mode | | ratio |");
    println!("| --- | ---: | --- | ---: | --- | ---: |");
    let (mut sums, mut count) = ([0.0, 0.0], 0);
    for (name, call) in calls() {
        let times = [&default, &auto].map(|session| clock::least(|| _ = black_box(decide(&call, &policy, session))));
        let [plain, careful] = times;
        let (before, now) = (decide(&call, &policy, &default), decide(&call, &policy, &auto));
        let name = name.replace('|', "\\|");
        println!("| `{name}` | {:.1} µs | {before} | {:.1} µs | {now} | {:.2} |", plain / 1e3, careful / 1e3, careful / plain);
        sums = [sums[0] + plain, sums[1] + careful];
        count += 1;
    }
    let [plain, careful] = sums.map(|sum| sum / f64::from(count) / 1e3);
    println!("| mean | {plain:.1} µs | | {careful:.1} µs | | {:.2} |", careful / plain);
}
