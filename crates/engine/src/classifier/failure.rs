//! What follows when the model gives no answer: no, or a person if the organisation says so. The organisation may say
//! so by a flag, in a file or at an address, that is read every half an hour; what cannot be read means no.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mayi_core::referral::OnFailure;
use mayi_identity::http;
use mayi_settings::document::open_at_once;
use serde::{Deserialize, Serialize};

use super::Object;
use super::client::Address;

/// How long a flag is believed.
const BELIEVED: u64 = 30 * 60;
/// How long reading a flag may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a flag's text may be.
const LENGTH: u64 = 4096;

/// A flag as it was read. Kept by whoever asks, since each question may come from a new process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flag {
    /// It said that a person may decide.
    open: bool,
    /// When, in seconds since 1970.
    read_at: u64,
}

/// What settings say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leniency {
    /// No.
    Closed,
    /// A person decides.
    Open,
    /// A file says.
    File(PathBuf),
    /// An address says.
    Address(Box<Address>),
}

impl Leniency {
    /// What these settings say; `None` when the flag is neither an absolute path nor an address that may be asked.
    /// Where a flag is named, it alone decides.
    pub(super) fn of(settings: &mayi_settings::settings::Classifier) -> Option<Self> {
        Some(match (settings.fail_open_flag.as_deref(), settings.fail_open) {
            (None, false) => Self::Closed,
            (None, true) => Self::Open,
            (Some(flag), _) if flag.starts_with('/') => Self::File(flag.into()),
            (Some(flag), _) => Self::Address(Box::new(Address::of(flag)?)),
        })
    }

    /// What follows now, and the flag to keep.
    pub(super) async fn on_failure(&self, kept: Option<Flag>, now: SystemTime) -> (OnFailure, Option<Flag>) {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        // A time to come is no reason to believe for longer.
        let fresh = kept.filter(|flag| flag.read_at <= now && now - flag.read_at < BELIEVED);
        let open = match (self, fresh) {
            (Self::Closed, _) => return (OnFailure::Closed, None),
            (Self::Open, _) => return (OnFailure::Person, None),
            (_, Some(flag)) => return (flag.meaning(), Some(flag)),
            (Self::File(path), None) => read_file(path),
            (Self::Address(address), None) => read_address(address).await,
        };
        let flag = Flag { open: open.is_some_and(|text| says_open(&text)), read_at: now };
        (flag.meaning(), Some(flag))
    }
}

impl Flag {
    fn meaning(self) -> OnFailure {
        if self.open { OnFailure::Person } else { OnFailure::Closed }
    }
}

/// The text of a flag's file, unless anybody could have written it.
fn read_file(path: &Path) -> Option<String> {
    let file = open_at_once(path).ok()?;
    let facts = file.metadata().ok()?;
    if !facts.is_file() || facts.mode() & 0o022 != 0 {
        return None;
    }
    let mut text = String::new();
    file.take(LENGTH).read_to_string(&mut text).ok()?;
    Some(text)
}

async fn read_address(address: &Address) -> Option<String> {
    let asked = async {
        let mut response = http::client(address.url(), None)?.get(address.url().clone()).send().await.ok()?;
        if response.status() != reqwest::StatusCode::OK {
            return None;
        }
        String::from_utf8(http::read(&mut response).await.ok()?).ok()
    };
    tokio::time::timeout(PATIENCE, asked).await.ok().flatten()
}

/// `open`, `true`, or an object whose `failOpen` is true.
fn says_open(text: &str) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Says {
        fail_open: bool,
    }
    let text = text.trim();
    matches!(text, "open" | "true") || serde_json::from_str::<Object<Says>>(text).is_ok_and(|says| says.0.fail_open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn after(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds)
    }

    fn asked(leniency: &Leniency, kept: Option<Flag>, now: SystemTime) -> (OnFailure, Option<Flag>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(leniency.on_failure(kept, now))
    }

    #[test]
    fn only_a_clear_yes_opens() {
        for text in ["open", " true\n", "{\"failOpen\": true}"] {
            assert!(says_open(text), "{text}");
        }
        for text in ["", "1", "yes", "closed", "not open", "{\"failOpen\": \"true\"}", "{}", "[true]", "OPEN"] {
            assert!(!says_open(text), "{text}");
        }
    }

    #[test]
    fn a_flag_is_believed_for_half_an_hour_and_then_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flag");
        let leniency = Leniency::File(path.clone());
        fs::write(&path, "open").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let (then, kept) = asked(&leniency, None, after(0));
        assert_eq!(then, OnFailure::Person);
        fs::write(&path, "closed").unwrap();
        assert_eq!(asked(&leniency, kept, after(BELIEVED - 1)).0, OnFailure::Person);
        assert_eq!(asked(&leniency, kept, after(BELIEVED)).0, OnFailure::Closed);
        assert_eq!(asked(&leniency, Some(Flag { open: true, read_at: u64::MAX }), after(0)).0, OnFailure::Closed);
    }

    #[test]
    fn a_flag_that_cannot_be_read_or_that_anybody_could_write_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flag");
        let leniency = Leniency::File(path.clone());
        assert_eq!(asked(&leniency, None, after(0)).0, OnFailure::Closed);
        fs::write(&path, "open").unwrap();
        for (mode, expected) in [(0o666, OnFailure::Closed), (0o664, OnFailure::Closed), (0o644, OnFailure::Person)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(asked(&leniency, None, after(0)).0, expected, "{mode:o}");
        }
        assert_eq!(asked(&Leniency::File(folder.path().into()), None, after(0)).0, OnFailure::Closed);
        let nobody = Leniency::Address(Box::new(Address::of("http://127.0.0.1:1/flag").unwrap()));
        assert_eq!(asked(&nobody, None, after(0)).0, OnFailure::Closed);
    }

    #[test]
    fn settings_say_it_plainly_or_by_a_flag_that_alone_decides() {
        let settings = |open: bool, flag: Option<&str>| mayi_settings::settings::Classifier {
            fail_open: open,
            fail_open_flag: flag.map(str::to_owned),
            ..Default::default()
        };
        assert_eq!(Leniency::of(&settings(false, None)), Some(Leniency::Closed));
        assert_eq!(Leniency::of(&settings(true, None)), Some(Leniency::Open));
        assert_eq!(Leniency::of(&settings(true, Some("/a"))), Some(Leniency::File("/a".into())));
        assert!(matches!(Leniency::of(&settings(true, Some("https://a.example/f"))), Some(Leniency::Address(_))));
        for odd in ["relative", "http://a.example/f", "~/flag"] {
            assert_eq!(Leniency::of(&settings(true, Some(odd))), None, "{odd}");
        }
    }
}
