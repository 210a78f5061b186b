//! One request: the token, refusals, and everything that can go wrong on the way.

use std::time::{Duration, Instant};

use mayi_engine::remote::client::ServerError;
use mayi_identity::Trouble;

use crate::counterpart::{Counterpart, Fault, TOKEN};
use crate::world::{client, good};

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn the_token_is_sent_and_names_us() {
    let server = Counterpart::start();
    let me = good(&server).me(LONG).await.unwrap();
    assert_eq!((me.name.as_str(), me.role.as_str()), ("laptop", "agent"));
    assert_eq!(server.seen()[0].token.as_deref(), Some(format!("Bearer {TOKEN}").as_str()));
    good(&server).healthy(LONG).await.unwrap();
    assert_eq!(server.seen().last().unwrap().token, None, "nobody needs to know us to say that it lives");
}

#[tokio::test]
async fn without_a_good_token_there_is_no_answer() {
    let server = Counterpart::start();
    let wrong = client(&server.url(), Some("mayi_another")).me(LONG).await.unwrap_err();
    assert!(matches!(wrong, ServerError::TokenRefused { .. }), "{wrong}");
    assert!(!wrong.to_string().contains("mayi_another"));
    let none = client(&server.url(), None).me(LONG).await.unwrap_err();
    assert!(matches!(none, ServerError::TokenMissing(_)), "{none}");
}

#[tokio::test]
async fn what_goes_wrong_on_the_way_is_told_and_never_followed() {
    let table = [
        (Fault::Status(500), Trouble::Status(500), true),
        (Fault::Status(503), Trouble::Status(503), true),
        (Fault::Status(429), Trouble::Status(429), true),
        (Fault::Status(302), Trouble::Redirected(302), false),
        (Fault::Garbage, Trouble::Unreadable, false),
        (Fault::Cut, Trouble::Connection, true),
        (Fault::Deaf, Trouble::Connection, true),
    ];
    for (fault, trouble, may_pass) in table {
        let server = Counterpart::start();
        server.fault("/v1/me", fault);
        let error = good(&server).me(LONG).await.unwrap_err();
        assert!(matches!(&error, ServerError::Away { what, .. } if *what == trouble), "{fault:?}: {error:?}");
        assert_eq!(error.may_pass(), may_pass, "{fault:?}");
    }
    let server = Counterpart::start();
    server.fault("/v1/me", Fault::Status(403));
    assert!(matches!(good(&server).me(LONG).await, Err(ServerError::Forbidden(_))));
    server.go_away();
    assert!(good(&server).me(LONG).await.unwrap_err().may_pass());
}

#[tokio::test]
async fn a_server_that_never_answers_is_not_waited_for() {
    let server = Counterpart::start();
    server.fault("/v1/me", Fault::Hang);
    let begun = Instant::now();
    let error = good(&server).me(Duration::from_millis(200)).await.unwrap_err();
    assert!(matches!(error, ServerError::Away { what: Trouble::TimedOut, .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(10));
}
