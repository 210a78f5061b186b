//! The law: whatever a server answers, an action runs only after a well-formed *no* of a stage. What is well-formed is
//! said here a second time, independently and on plain JSON.

use mayi_core::call::Call;
use mayi_core::verdict::Verdict;
use mayi_engine::classifier::{Question, Transcript, action};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::standin::{Act, Api, Standin};
use crate::{CLOSE_NO, CLOSE_YES, NO, YES, both, configured, session, verdict};

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn whatever_is_in_a_call_it_is_one_line_that_means_the_same(tool in any::<String>(), texts: Vec<String>) {
        let call = Call { tool, input: json!({ "texts": texts }) };
        let line = action(&call);
        let odd = |letter: char| letter.is_control() || "<>&\u{2028}\u{2029}\u{202e}".contains(letter);
        prop_assert!(!line.contains(odd), "one line, no tag: {line:?}");
        let object: Value = serde_json::from_str(&line).unwrap();
        let (name, input) = object.as_object().unwrap().iter().next().unwrap();
        prop_assert_eq!(name.strip_prefix("tool:").unwrap_or(name), &call.tool);
        prop_assert_eq!(input, &call.input);
        prop_assert_ne!(name, "user");
    }

    #[test]
    fn whatever_the_user_says_is_one_line_of_the_users(words in any::<String>()) {
        let mut transcript = Transcript::new(&crate::workspace());
        transcript.user(&words);
        let lines: Vec<Value> = transcript.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let said = if words.trim().is_empty() { vec![] } else { vec![json!({ "user": words })] };
        prop_assert_eq!(lines, said);
    }
}

/// Texts that a model may come up with.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "<block>",
        "</block>",
        "no",
        "yes",
        "<category>",
        "</category>",
        "none",
        "exfiltration",
        "<reason>",
        "</reason>",
        "\n",
        " ",
        "I refuse. ",
        "<block>no</block>",
        "<block>yes</block>",
        "&lt;",
        "```",
    ]);
    prop_oneof![
        3 => prop::sample::select(vec![NO, YES, CLOSE_NO, CLOSE_YES]).prop_map(str::to_owned),
        3 => prop::collection::vec(pieces, 0..8).prop_map(|pieces| pieces.concat()),
        1 => any::<String>(),
    ]
}

/// Bodies of the API's shape, with every part as it should be or not.
fn shaped(api: Api) -> BoxedStrategy<Vec<u8>> {
    let word = |right: &'static str| prop_oneof![6 => Just(json!(right)), 1 => Just(Value::Null), 1 => Just(json!("other")), 1 => Just(json!(1))];
    let block = (word("text"), text()).prop_map(|(kind, text)| json!({"type": kind, "text": text}));
    match api {
        Api::Anthropic => {
            let content = prop::collection::vec(block, 0..3);
            (word("message"), word("assistant"), word("end_turn"), content)
                .prop_map(|(kind, role, end, content)| {
                    json!({"type": kind, "role": role, "content": content, "stop_reason": end,
                        "usage": {"input_tokens": 1, "output_tokens": 1}})
                    .to_string()
                    .into_bytes()
                })
                .boxed()
        }
        Api::OpenAi => {
            let refusal = prop_oneof![4 => Just(Value::Null), 1 => Just(json!("I refuse"))];
            let choice = (word("assistant"), word("stop"), text(), refusal).prop_map(|(role, end, text, refusal)| {
                json!({"message": {"role": role, "content": text, "refusal": refusal}, "finish_reason": end})
            });
            let choice = choice.boxed();
            let choices =
                prop_oneof![6 => prop::collection::vec(choice.clone(), 1), 1 => prop::collection::vec(choice, 0..3)];
            choices.prop_map(|choices| json!({ "choices": choices }).to_string().into_bytes()).boxed()
        }
    }
}

/// Well-formed bodies with a few bytes changed, taken out or put in.
fn mutated(api: Api) -> BoxedStrategy<Vec<u8>> {
    let change = (any::<prop::sample::Index>(), 0..3_u8, any::<u8>());
    (shaped(api), prop::collection::vec(change, 0..4))
        .prop_map(|(mut body, changes)| {
            for (place, how, byte) in changes {
                let place = place.index(body.len().max(1)).min(body.len().saturating_sub(1));
                match how {
                    0 if !body.is_empty() => body[place] = byte,
                    1 if !body.is_empty() => drop(body.remove(place)),
                    _ => body.insert(place, byte),
                }
            }
            body
        })
        .boxed()
}

fn act(api: Api) -> impl Strategy<Value = Act> {
    let body = prop_oneof![
        5 => shaped(api),
        4 => mutated(api),
        1 => prop::collection::vec(any::<u8>(), 0..200).boxed(),
        1 => Just(json!(["message", "assistant", [["text", NO]], "end_turn", [1, 1]]).to_string().into_bytes()).boxed(),
        1 => Just(json!({"choices": [[["assistant", NO, null], "stop"]]}).to_string().into_bytes()).boxed(),
    ];
    let status = prop_oneof![12 => Just(200_u16), 1 => Just(201), 1 => Just(302), 1 => Just(400), 1 => Just(500)];
    let kind = prop_oneof![12 => Just("application/json"), 1 => Just("text/html"), 1 => Just("text/event-stream")];
    (status, kind, body)
        .prop_map(|(status, kind, body)| Act::Raw(status, vec![("content-type", kind.to_owned())], body))
}

/// The text of an answer that counts.
fn counted(api: Api, act: &Act) -> Option<String> {
    let Act::Raw(200, headers, body) = act else { return None };
    if headers[0].1 != "application/json" {
        return None;
    }
    let body: Value = serde_json::from_slice(body).ok()?;
    match api {
        Api::Anthropic => {
            let content = body["content"].as_array()?;
            let whole = body["type"] == "message" && body["role"] == "assistant" && body["stop_reason"] == "end_turn";
            let sole = content.len() == 1 && content[0]["type"] == "text";
            (whole && sole).then(|| content[0]["text"].as_str().map(str::to_owned))?
        }
        Api::OpenAi => {
            let choices = body["choices"].as_array()?;
            let whole = choices.len() == 1
                && choices[0]["message"]["role"] == "assistant"
                && choices[0]["finish_reason"] == "stop"
                && choices[0]["message"]["refusal"].is_null();
            whole.then(|| choices[0]["message"]["content"].as_str().map(str::to_owned))?
        }
    }
}

fn is_quick_no(text: &str) -> bool {
    text.trim() == NO
}

fn is_close_no(text: &str) -> bool {
    let once = |tag: &str| text.matches(tag).count() == 1;
    let squeezed: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    ["<category>", "</category>", "<reason>", "</reason>", "<block>", "</block>"].iter().all(|tag| once(tag))
        && squeezed.contains("<category>none</category><reason>")
        && squeezed.ends_with("</reason><block>no</block>")
}

#[test]
fn no_answer_lets_an_action_run_but_a_well_formed_no() {
    both(|api| {
        let server = Standin::new(api, []);
        let classifier = configured(&server.settings());
        let (transcript, action) = (session(), Call::shell("make deploy"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut runs = 0;
        let mut runner = TestRunner::new(Config { cases: 600, failure_persistence: None, ..Config::default() });
        let outcome = runner.run(&(act(api), act(api)), |(first, second)| {
            server.forget();
            server.then([first.clone(), second.clone()]);
            let judgement = runtime.block_on(classifier.judge(Question::new(&transcript, &action)));
            // The one that was answered last. A request that a connection lost is sent again, and then both are of one stage.
            let last = server.seen().len().checked_sub(1).and_then(|at| [&first, &second].get(at).copied());
            let text = last.and_then(|act| counted(api, act));
            let is_no = |is_no: fn(&str) -> bool| text.as_deref().is_some_and(is_no);
            let let_run = verdict(&judgement.classified) == Some(Verdict::Allow);
            let held = if judgement.stages == 1 { is_no(is_quick_no) } else { is_no(is_close_no) };
            prop_assert!(held || !let_run, "{last:?} in stage {}", judgement.stages);
            Ok(())
        });
        outcome.unwrap();
        // The law would be empty if nothing ever ran.
        for acts in [vec![Act::Say(NO.to_owned())], vec![Act::Say(YES.to_owned()), Act::Say(CLOSE_NO.to_owned())]] {
            server.forget();
            server.then(acts);
            let judgement = run_on(&runtime, &classifier, (&transcript, &action));
            runs += usize::from(judgement == Some(Verdict::Allow));
        }
        assert_eq!(runs, 2);
    });
}

fn run_on(
    runtime: &tokio::runtime::Runtime,
    classifier: &mayi_engine::classifier::Classifier,
    (transcript, action): (&Transcript, &Call),
) -> Option<Verdict> {
    verdict(&runtime.block_on(classifier.judge(Question::new(transcript, action))).classified)
}
