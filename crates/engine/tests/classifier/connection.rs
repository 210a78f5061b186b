//! The connection: kept and used again, encrypted and checked, and never a way for a key to get elsewhere.

use mayi_core::call::Call;
use mayi_core::referral::Classified;
use mayi_engine::classifier::{Classifier, Question};
use serde_json::{Value, json};

use crate::standin::{Act, Api, Authority, Standin};
use crate::{NO, configured, environment, read, run, say, session, verdict};

#[test]
fn one_connection_serves_many_questions() {
    let server = Standin::new(Api::OpenAi, (0..10).map(|_| say(NO)));
    let classifier = configured(&server.settings());
    let (transcript, action) = (session(), Call::shell("make deploy"));
    run(async {
        for _ in 0..10 {
            let judgement = classifier.judge(Question::new(&transcript, &action)).await;
            assert!(verdict(&judgement.classified).is_some());
        }
    });
    assert_eq!((server.seen().len(), server.connections()), (10, 1));
}

#[test]
fn a_redirect_is_not_followed_and_no_key_arrives_elsewhere() {
    let elsewhere = Standin::new(Api::Anthropic, [say(NO)]);
    let location = format!("http://{}/v1/messages", elsewhere.address);
    for status in [301, 302, 303, 307, 308] {
        let server = Standin::new(Api::Anthropic, [Act::Raw(status, vec![("location", location.clone())], Vec::new())]);
        let (transcript, action) = (session(), Call::shell("make deploy"));
        let judgement = run(configured(&server.settings()).judge(Question::new(&transcript, &action)));
        assert!(
            matches!(&judgement.classified, Classified::Failed { problem, .. } if problem.contains("not followed"))
        );
    }
    assert_eq!((elsewhere.seen().len(), elsewhere.connections()), (0, 0));
}

/// The settings of a stand-in that speaks TLS, by this name.
fn over_tls(server: &Standin, host: &str) -> Value {
    let mut settings = server.settings();
    settings["classifier"]["baseUrl"] = json!(format!("https://{host}:{}", server.address.port()));
    settings
}

#[test]
fn a_certificate_must_be_trusted_and_for_the_right_name() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path());
    let mut trusting = environment();
    trusting.push(("SSL_CERT_FILE".into(), authority.file().into()));
    let table = [
        ("localhost", &trusting, None),
        ("other.example", &trusting, Some("certificate is for another name")),
        ("localhost", &environment(), Some("certificate is not trusted")),
    ];
    for (name, environment, expected) in table {
        let server = Standin::with_tls(Api::Anthropic, [say(NO)], &authority, name);
        let classifier = Classifier::configured(&read(&over_tls(&server, "localhost")), environment).unwrap().unwrap();
        let (transcript, action) = (session(), Call::shell("make deploy"));
        let judgement = run(classifier.judge(Question::new(&transcript, &action)));
        match (&judgement.classified, expected) {
            (Classified::Judged { .. }, None) => assert_eq!(server.seen().len(), 1),
            (Classified::Failed { problem, .. }, Some(expected)) => {
                assert!(problem.contains(expected), "{problem}");
                assert_eq!(server.seen().len(), 0, "no key was sent");
            }
            (other, _) => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_server_of_ones_own_needs_no_key() {
    let server = Standin::new(Api::OpenAi, [say(NO)]);
    let classifier = Classifier::configured(&read(&server.settings()), &[]).unwrap().unwrap();
    let (transcript, action) = (session(), Call::shell("make deploy"));
    assert!(verdict(&run(classifier.judge(Question::new(&transcript, &action))).classified).is_some());
    assert_eq!(server.seen()[0].header("authorization"), None);
}

#[test]
fn a_helper_brings_the_key() {
    let server = Standin::new(Api::Anthropic, [say(NO)]);
    let mut settings = server.settings();
    settings["apiKeyHelper"] = json!(format!("echo {}", crate::KEY));
    let classifier = Classifier::configured(&read(&settings), &[]).unwrap().unwrap();
    let (transcript, action) = (session(), Call::shell("make deploy"));
    assert!(verdict(&run(classifier.judge(Question::new(&transcript, &action))).classified).is_some());
    assert_eq!(server.seen()[0].header("x-api-key"), Some(crate::KEY));
}
