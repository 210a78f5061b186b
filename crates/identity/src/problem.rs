//! What can go wrong, in words for people. No text here ever holds a secret, nor what a server said beyond its error
//! code and a cleaned description.

use std::path::PathBuf;

use crate::credential::Source;
use crate::store::StoreProblem;

/// Why there is no credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The helper gave no key.
    #[error("the command of `apiKeyHelper` {0}\nhelp: it must print the key on its first line, within ten seconds")]
    Helper(&'static str),
    /// What we have was not accepted, and there is nothing newer.
    #[error("the credential from {0} was not accepted\nhelp: {remedy}", remedy = .0.remedy())]
    Refused(Source),
    /// The sign-in is over.
    #[error("the sign-in at `{at}` has ended: {why}\nhelp: sign in again with `mayi login`")]
    SignInAgain {
        /// Where.
        at: String,
        /// Why.
        why: Ended,
    },
    /// Nobody said where to sign in.
    #[error("no sign-in service is configured\nhelp: set `identity.issuer`, or name one: mayi login --issuer URL")]
    NoService,
    /// A way to sign in that the service does not have.
    #[error("the sign-in service names no {0}\nhelp: sign in another way, or set `identity.{0}`")]
    NoEndpoint(&'static str),
    /// An address that no secret may be sent to.
    #[error(
        "`{address}` is no address that a secret may be sent to\nhelp: check `identity` in your settings: https without \
         user and fragment; plain http on this machine only"
    )]
    Address {
        /// The address.
        address: String,
    },
    /// The service cannot be asked.
    #[error("`{at}` {what}\nhelp: {}", .what.remedy())]
    Http {
        /// Its host.
        at: String,
        /// What happened.
        what: Trouble,
    },
    /// What the service says of itself cannot be right.
    #[error("what `{at}` says about itself {what}\nhelp: check `identity.issuer` for spelling, path and final slash")]
    Discovery {
        /// The issuer.
        at: String,
        /// What is wrong.
        what: &'static str,
    },
    /// The service said no.
    #[error("the sign-in service answered `{code}`{}", described(.description.as_deref()))]
    Service {
        /// Its error code.
        code: String,
        /// Its words, cleaned.
        description: Option<String>,
    },
    /// The browser came back with something else than an answer to our question.
    #[error("the answer that came back from the browser {0}\nhelp: nothing was kept; start `mayi login` again")]
    Callback(BadCallback),
    /// A token that cannot be used.
    #[error("the sign-in service gave a token that {0}\nhelp: this is for whoever runs the service to mend")]
    Token(&'static str),
    /// A key that is none.
    #[error("this is no API key: it must be one word of at most 8,192 printable letters\nhelp: nothing was kept")]
    Key,
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreProblem),
    /// The lock that keeps two processes from refreshing at once.
    #[error("`{}` cannot be locked: {what}\nhelp: check that the folder is yours and can be written", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// The person or the program changed their mind.
    #[error("a newer sign-in or sign-out came between")]
    Superseded,
    /// The system has no random numbers or no free port.
    #[error("{0}\nhelp: try again; this is a problem of the machine")]
    Machine(&'static str),
}

fn described(description: Option<&str>) -> String {
    description.map(|text| format!(": {text}")).unwrap_or_default()
}

/// Why a sign-in is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// The service takes the refresh token no longer.
    #[error("the service no longer accepts it (invalid_grant)")]
    Grant,
    /// The service refuses this program.
    #[error("the service refuses this program ({0})")]
    Client(String),
    /// There is nothing to refresh with.
    #[error("it has expired, and the service gave nothing to renew it with")]
    Expired,
}

/// What is wrong with what the browser brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCallback {
    /// Not the state that was sent.
    #[error("belongs to another sign-in (its `state` is not ours)")]
    State,
    /// Another issuer.
    #[error("is from another service (its `iss` is not the issuer)")]
    Issuer,
    /// The service promises to name itself, and did not.
    #[error("does not say which service it is from (`iss` is missing)")]
    NoIssuer,
    /// Neither a code nor an error.
    #[error("holds no code")]
    NoCode,
    /// A parameter twice.
    #[error("says the same thing twice")]
    Twice,
    /// Nobody came.
    #[error("did not come in time")]
    TimedOut,
}

/// Why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// It took too long.
    #[error("did not answer in time (timed out)")]
    TimedOut,
    /// Nobody is there.
    #[error("cannot be reached (connection failed)")]
    Connection,
    /// Somebody else is there.
    #[error("has a certificate for another name (connection failed)")]
    OtherName,
    /// Who is there cannot be known.
    #[error("has a certificate that is not trusted (connection failed)")]
    Untrusted,
    /// It sends us elsewhere.
    #[error("points to another address, which is not followed (status {0})")]
    Redirected(u16),
    /// It has too much to do, or failed.
    #[error("failed with status {0}")]
    Status(u16),
    /// More than we read.
    #[error("gave an answer that is too long")]
    TooLong,
    /// No answer to what was asked.
    #[error("gave an answer that cannot be understood")]
    Unreadable,
}

impl Trouble {
    /// Whether the same request may well succeed a moment later.
    pub fn may_pass(self) -> bool {
        match self {
            Self::TimedOut | Self::Connection => true,
            Self::Status(code) => code == 429 || code >= 500,
            Self::OtherName | Self::Untrusted | Self::Redirected(_) | Self::TooLong | Self::Unreadable => false,
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::TimedOut | Self::Connection => "try again; check the network and the address",
            Self::OtherName => "check the address",
            Self::Untrusted => {
                "check the address; an authority of your own goes into the file that SSL_CERT_FILE names"
            }
            Self::Redirected(_) => "name the address it points to, if that is the right one",
            Self::Status(_) => "try again in a moment",
            Self::TooLong | Self::Unreadable => "check that the address is that of a sign-in service",
        }
    }
}

impl Problem {
    /// Whether trying again later may help without anybody doing anything.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Http { what, .. } => what.may_pass(),
            Self::Service { code, .. } => code == "temporarily_unavailable" || code == "server_error",
            Self::Store(problem) => problem.may_pass(),
            Self::Lock { .. } => true,
            Self::Helper(_)
            | Self::Refused(_)
            | Self::SignInAgain { .. }
            | Self::NoService
            | Self::NoEndpoint(_)
            | Self::Address { .. }
            | Self::Discovery { .. }
            | Self::Callback(_)
            | Self::Token(_)
            | Self::Key
            | Self::Superseded
            | Self::Machine(_) => false,
        }
    }
}

/// The longest description that is shown.
const DESCRIPTION: usize = 200;
/// A run of letters as long as this could be a token that the service repeats.
const RUN: usize = 20;

/// An error code as RFC 6749 writes them; anything else is not repeated.
pub(crate) fn cleaned_code(code: &str) -> String {
    let fit = !code.is_empty() && code.len() <= 64 && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    if fit { code.to_owned() } else { "an unknown error".to_owned() }
}

/// A description without control characters, without anything that could be a secret, and short.
pub(crate) fn cleaned_description(text: &str) -> Option<String> {
    let plain: String = text.chars().map(|letter| if letter.is_ascii_graphic() { letter } else { ' ' }).collect();
    let words = plain.split(' ').filter(|word| !word.is_empty());
    let words = words.map(|word| if longest_run(word) >= RUN { "[…]" } else { word });
    let cleaned: String = words.collect::<Vec<_>>().join(" ").chars().take(DESCRIPTION).collect();
    (!cleaned.is_empty()).then_some(cleaned)
}

fn longest_run(word: &str) -> usize {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_.~+/=%".contains(letter);
    word.split(|letter| !is_part(letter)).map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_says_is_cleaned_before_it_is_shown() {
        let table = [
            ("grant request is invalid", Some("grant request is invalid")),
            ("token eyJhbGciOiJSUzI1NiJ9.e30.abc is bad", Some("token […] is bad")),
            ("refresh_token=abcdefghijklmnopqrstuvwxyz", Some("[…]")),
            ("\u{1b}[31mred\u{7}\nnext\u{202e}", Some("[31mred next")),
            ("  \t ", None),
            ("", None),
        ];
        for (said, shown) in table {
            assert_eq!(cleaned_description(said).as_deref(), shown, "{said:?}");
        }
        assert!(cleaned_description(&"no ".repeat(500)).unwrap().len() <= DESCRIPTION);
    }

    #[test]
    fn only_codes_that_look_like_codes_are_repeated() {
        assert_eq!(cleaned_code("invalid_grant"), "invalid_grant");
        for odd in ["", "Invalid grant", "sk-secret-1", "a\nb", &"x".repeat(65)] {
            assert_eq!(cleaned_code(odd), "an unknown error");
        }
    }
}
