//! The two stages: when the second is asked, what they share, and what their answers mean.

use mayi_core::call::Call;
use mayi_core::referral::Classified;
use mayi_core::verdict::Verdict;
use mayi_engine::classifier::{Ledger, Question};

use crate::standin::{Act, Standin};
use crate::{CLOSE_NO, CLOSE_YES, NO, YES, both, configured, judged, run, say, session, verdict};

#[test]
fn a_question_can_be_put_from_any_thread() {
    fn is_send<T: Send>(_: T) {}
    let server = Standin::new(crate::standin::Api::Anthropic, []);
    let (transcript, action) = (session(), Call::shell("make"));
    is_send(configured(&server.settings()).judge(Question::new(&transcript, &action)));
}

#[test]
fn a_quick_no_lets_it_run_after_one_request() {
    both(|api| {
        let server = Standin::new(api, [say(NO)]);
        let judgement = run(judged(&server));
        assert_eq!(verdict(&judgement.classified), Some(Verdict::Allow));
        assert_eq!((judgement.stages, server.seen().len()), (1, 1));
        assert_eq!(judgement.usage.requests, 1);
    });
}

#[test]
fn a_quick_yes_leads_to_a_closer_look_that_decides() {
    both(|api| {
        let server = Standin::new(api, [say(YES), say(CLOSE_NO)]);
        assert_eq!(verdict(&run(judged(&server)).classified), Some(Verdict::Allow));
        server.then([say(YES), say(CLOSE_YES)]);
        let judgement = run(judged(&server));
        let expected = Classified::Judged {
            verdict: Verdict::Deny,
            category: Some("exfiltration".to_owned()),
            message: "It sends a file away.".to_owned(),
        };
        assert_eq!(judgement.classified, expected);
        assert_eq!((judgement.stages, server.seen().len()), (2, 4));
    });
}

#[test]
fn a_quick_answer_nobody_understands_leads_to_the_closer_look() {
    both(|api| {
        let unclear = [
            say("no"),
            say(""),
            say("<block>no</block><block>yes</block>"),
            say("I am sorry, but <block>no</block>"),
            Act::Ends(NO.to_owned(), "max_tokens"),
            Act::Ends(NO.to_owned(), "length"),
            Act::Ends(NO.to_owned(), "refusal"),
            Act::Ends(NO.to_owned(), "content_filter"),
            Act::Stream(NO.to_owned()),
            Act::Raw(200, vec![("content-type", "text/html".to_owned())], b"<html>no</html>".to_vec()),
            Act::Raw(200, vec![("content-type", "application/json".to_owned())], NO.into()),
            Act::Raw(200, vec![("content-type", "application/json".to_owned())], vec![b'x'; 1 << 20]),
            Act::Raw(204, Vec::new(), Vec::new()),
        ];
        for act in unclear {
            let server = Standin::new(api, [act.clone(), say(CLOSE_NO)]);
            let judgement = run(judged(&server));
            assert_eq!((judgement.stages, server.seen().len()), (2, 2), "{act:?}");
            assert_eq!(verdict(&judgement.classified), Some(Verdict::Allow), "{act:?}");
            let server = Standin::new(api, [act.clone(), act.clone()]);
            let judgement = run(judged(&server));
            assert_eq!(verdict(&judgement.classified), Some(Verdict::Deny), "{act:?}");
        }
    });
}

#[test]
fn a_closer_look_that_contradicts_itself_stops_the_action() {
    both(|api| {
        for text in [
            NO,
            "<category>exfiltration</category><reason>r</reason><block>no</block>",
            "<category>none</category><reason>r</reason><block>no</block><block>yes</block>",
            "<category>none</category><reason>r</reason><block>no</block> I think",
        ] {
            let server = Standin::new(api, [say(YES), say(text)]);
            assert_eq!(verdict(&run(judged(&server)).classified), Some(Verdict::Deny), "{text}");
        }
        let made_up = "<category>boredom</category><reason>r</reason><block>yes</block>";
        let server = Standin::new(api, [say(YES), say(made_up)]);
        let expected = Classified::Judged { verdict: Verdict::Deny, category: None, message: "r".to_owned() };
        assert_eq!(run(judged(&server)).classified, expected);
    });
}

#[test]
fn both_stages_share_their_prompt_byte_for_byte_and_the_second_is_nearly_all_cache() {
    both(|api| {
        let server = Standin::new(api, [say(YES), say(CLOSE_NO), say(NO)]);
        let mut transcript = session();
        for number in 0..200 {
            transcript.user(&format!("and then step {number}"));
            transcript.call(&Call::shell(&format!("touch made-{number}")));
        }
        let classifier = configured(&server.settings());
        let action = Call::shell("make deploy");
        let first = run(classifier.judge(Question::new(&transcript, &action)));
        let seen = server.seen();
        let shared = seen[0].body.iter().zip(&seen[1].body).take_while(|(a, b)| a == b).count();
        let whole = seen[0].body.len().min(seen[1].body.len());
        assert!(whole - shared < 2_000, "{shared} of {whole} bytes are shared");
        let before = |seen: &crate::standin::Seen| {
            seen.texts().split_once("</action>\n").map(|(before, _)| before.to_owned()).unwrap()
        };
        assert_eq!(before(&seen[0]), before(&seen[1]));
        assert_eq!(seen[0].json()["max_tokens"], 64);

        // The first stage pays for the prompt, the second reads it from the cache.
        let prompt = first.usage.input + first.usage.cache_write + first.usage.cache_read;
        assert!(first.usage.cache_read * 100 >= prompt / 2 * 95, "{:?}", first.usage);

        // The next call's prompt begins with what was kept for this one.
        transcript.user("one more");
        let next = run(classifier.judge(Question::new(&transcript, &Call::shell("make test"))));
        let prompt = next.usage.input + next.usage.cache_write + next.usage.cache_read;
        assert!(next.usage.cache_read * 100 >= prompt * 85, "{:?}", next.usage);
        let books = Ledger::default().with("test-model", first.usage).with("test-model", next.usage);
        assert_eq!((books.usage.requests, books.judged), (3, 2));
    });
}
