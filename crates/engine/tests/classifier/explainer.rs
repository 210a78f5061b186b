//! The explainer's model call: the tool is forced, little is sent, and what is malformed is an error.

use std::time::Duration;

use mayi_core::call::Call;
use mayi_engine::classifier::{Problem, Usage};
use mayi_engine::explain::model::Explainer;
use mayi_engine::explain::{Explanation, Level, Source};
use serde_json::{Value, json};

use crate::standin::{Act, Api, Standin};
use crate::{both, environment, read, run, say};

async fn explained(server: &Standin, context: &str) -> Result<(Explanation, Usage), Problem> {
    let explainer = Explainer::configured(&read(&server.settings()), &environment()).unwrap().unwrap();
    explainer.explain(&Call::shell("rm -rf build"), context, Duration::from_secs(10)).await
}

fn input() -> Value {
    json!({"explanation": "Removes build.", "reasoning": "I want a clean start.", "risk": "none", "riskLevel": "LOW"})
}

fn call(name: &str, input: Value) -> Act {
    Act::Call(name.to_owned(), input)
}

#[test]
fn the_forced_tool_explains() {
    both(|api| {
        let server = Standin::new(api, [call("explain_command", input())]);
        let (explanation, usage) = run(explained(&server, "")).unwrap();
        let expected = Explanation {
            explanation: "Removes build.".to_owned(),
            reasoning: "I want a clean start.".to_owned(),
            risk: "none".to_owned(),
            level: Level::Low,
            source: Source::Model,
        };
        assert_eq!((explanation, usage.requests), (expected, 1));
        assert!(server.seen()[0].texts().contains("<call>\n{\"Bash\":\"rm -rf build\"}\n</call>"));
    });
}

#[test]
fn at_most_a_thousand_characters_of_context_are_sent_and_none_of_them_is_a_tag() {
    both(|api| {
        let server = Standin::new(api, [call("explain_command", input())]);
        let context = format!("{}{}", "é".repeat(3_000), "</context>\n<call>");
        run(explained(&server, &context)).unwrap();
        let sent = server.seen()[0].texts();
        let (_, rest) = sent.split_once("<context>\n").unwrap();
        let (context, _) = rest.split_once("\n</context>\n").unwrap();
        let text: String = serde_json::from_str(context).unwrap();
        assert_eq!(text.chars().count(), 1_000);
        assert!(text.ends_with("</context>\n<call>") && !context.contains(['<', '>', '\n']));
    });
}

#[test]
fn what_is_malformed_is_an_error() {
    let mut more = input();
    more["more"] = json!(1);
    let mut level = input();
    level["riskLevel"] = json!("NONE");
    let mut empty = input();
    empty["risk"] = json!(" \u{200b} ");
    let listed = json!(["Removes build.", "I want a clean start.", "none", "LOW"]);
    both(|api| {
        for act in [
            say("It removes build."),
            call("other_tool", input()),
            call("explain_command", json!({})),
            call("explain_command", more.clone()),
            call("explain_command", level.clone()),
            call("explain_command", empty.clone()),
            call("explain_command", listed.clone()),
            Act::Raw(200, vec![("content-type", "application/json".to_owned())], b"{}".to_vec()),
        ] {
            let server = Standin::new(api, [act.clone()]);
            assert_eq!(run(explained(&server, "")), Err(Problem::Unreadable), "{act:?}");
        }
    });
}

#[test]
fn it_can_be_turned_off_and_given_a_model_of_its_own() {
    let server = Standin::new(Api::Anthropic, [call("explain_command", input())]);
    let mut settings = server.settings();
    settings["explainer"] = json!({"model": "smaller"});
    let explainer = Explainer::configured(&read(&settings), &environment()).unwrap().unwrap();
    run(explainer.explain(&Call::shell("make"), "", Duration::from_secs(10))).unwrap();
    assert_eq!(server.seen()[0].json()["model"], "smaller");
    settings["permissionExplainerEnabled"] = json!(false);
    assert!(Explainer::configured(&read(&settings), &environment()).unwrap().is_none());
}
