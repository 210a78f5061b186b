//! Where the database is, and how the way there is kept private.
//!
//! A password never travels in the clear beyond this machine, unless the address says `sslmode=disable`. Where TLS is
//! used, the server's certificate is always checked: there is no `sslmode` that does less.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::StoreError;

/// How long connecting may take.
pub(super) const CONNECTING: Duration = Duration::from_secs(5);
/// What every connection of ours is set to. A commit is durable when it returns, whatever the server's own setting; no
/// statement, no lock and no forgotten transaction lasts for ever.
const OPTIONS: &str = "-c search_path=mayi -c synchronous_commit=on -c statement_timeout=10000 -c lock_timeout=5000 \
                       -c idle_in_transaction_session_timeout=15000";

/// A database that can be connected to.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Address").field("hosts", &self.config.get_hosts()).finish_non_exhaustive()
    }
}

impl Address {
    /// Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…&sslrootcert=…`.
    pub(super) fn read(text: &str) -> Result<Self, StoreError> {
        let (plain, ours) = take_ours(text);
        let mut config: Config = plain.parse().map_err(|error| unreadable(&describe(&error)))?;
        let mode = match ours.mode.as_deref() {
            Some("disable") => SslMode::Disable,
            Some("require" | "verify-ca" | "verify-full") => SslMode::Require,
            None if is_local(&config) => SslMode::Disable,
            None => SslMode::Require,
            Some(other) => {
                return Err(unreadable(&format!("`sslmode={other}` is not known; there are `require` and `disable`")));
            }
        };
        let options = config.get_options().map_or(OPTIONS.to_owned(), |theirs| format!("{OPTIONS} {theirs}"));
        config.ssl_mode(mode).options(options).application_name("mayi").connect_timeout(CONNECTING);
        config.tcp_user_timeout(Duration::from_secs(15)).keepalives_idle(Duration::from_secs(15));
        config.keepalives_interval(Duration::from_secs(5)).keepalives_retries(3);
        Ok(Self { config, tls: MakeRustlsConnect::new(tls(mode, ours.root.as_deref())?) })
    }
}

/// What is said in an address that only we understand.
#[derive(Default)]
struct Ours {
    mode: Option<String>,
    root: Option<String>,
}

fn take_ours(text: &str) -> (String, Ours) {
    let Some((front, query)) = text.split_once('?') else { return (text.to_owned(), Ours::default()) };
    let mut ours = Ours::default();
    let mut theirs = Vec::new();
    for part in query.split('&') {
        match part.split_once('=') {
            Some(("sslmode", word)) => ours.mode = Some(word.to_owned()),
            Some(("sslrootcert", path)) => ours.root = Some(path.replace("%2F", "/").replace("%20", " ")),
            Some(_) | None => theirs.push(part),
        }
    }
    let plain = if theirs.is_empty() { front.to_owned() } else { format!("{front}?{}", theirs.join("&")) };
    (plain, ours)
}

fn is_local(config: &Config) -> bool {
    let is_loopback =
        |name: &str| name == "localhost" || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    let hosts = config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => is_loopback(name),
        #[cfg(unix)]
        Host::Unix(_) => true,
    });
    // An address of its own is where the connection goes, whatever the name says.
    hosts && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
}

fn tls(mode: SslMode, root: Option<&str>) -> Result<ClientConfig, StoreError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| unreadable(&error.to_string()))?;
    let wanted = match (mode, root) {
        // It is never used; it trusts nobody.
        (SslMode::Disable, _) => builder.with_root_certificates(RootCertStore::empty()),
        (_, Some(path)) => builder.with_root_certificates(roots(path)?),
        (_, None) => builder.with_platform_verifier().map_err(|error| unreadable(&error.to_string()))?,
    };
    Ok(wanted.with_no_client_auth())
}

fn roots(path: &str) -> Result<RootCertStore, StoreError> {
    let failed = |error: String| unreadable(&format!("the certificates in `{path}` cannot be read: {error}"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| failed(error.to_string()))? {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    if roots.is_empty() { Err(failed("there are none".to_owned())) } else { Ok(roots) }
}

/// The address itself is not repeated: it may hold a password.
fn unreadable(problem: &str) -> StoreError {
    StoreError::Away(format!(
        "the address of the database cannot be used: {problem}\n\
         help: write `postgres://USER:PASSWORD@HOST/DATABASE`, and `?sslrootcert=FILE` for a certificate of your own"
    ))
}

/// An error with what is behind it.
pub(super) fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_leaves_the_machine_only_within_tls_or_when_told_to() {
        let table = [
            ("postgres://u:p@127.0.0.1/d", SslMode::Disable),
            ("postgres://u:p@127.9.9.9:5433/d", SslMode::Disable),
            ("postgres://u:p@[::1]/d", SslMode::Disable),
            ("postgres://u:p@localhost/d", SslMode::Disable),
            ("postgres:///d?host=/run/postgresql", SslMode::Disable),
            ("postgres://u:p@db.example/d", SslMode::Require),
            ("postgres://u:p@10.0.0.1/d", SslMode::Require),
            ("postgres://u:p@127.0.0.1,db.example/d", SslMode::Require),
            ("postgres://u:p@localhost/d?hostaddr=10.0.0.1", SslMode::Require),
            ("postgres://u:p@localhost.example/d", SslMode::Require),
            ("postgres://u:p@127.0.0.1/d?sslmode=require", SslMode::Require),
            ("postgres://u:p@db.example/d?sslmode=verify-full&connect_timeout=3", SslMode::Require),
            ("postgres://u:p@db.example/d?sslmode=disable", SslMode::Disable),
        ];
        for (text, mode) in table {
            let read = Address::read(text).map(|address| address.config.get_ssl_mode());
            assert_eq!(read.ok(), Some(mode), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_without_repeating_the_password() {
        let table = [
            "postgres://u:hunter2@db.example/d?sslmode=prefer",
            "postgres://u:hunter2@db.example/d?sslmode=allow",
            "postgres://u:hunter2@db.example:port/d",
            "postgres://u:hunter2@db.example/d?sslrootcert=/nowhere/at/all.pem",
            "postgres://u:hunter2@db.example/d?nonsense=1",
        ];
        for text in table {
            let error = Address::read(text).unwrap_err().to_string();
            assert!(error.contains("help:") && !error.contains("hunter2"), "{text}: {error}");
        }
        let shown = format!("{:?}", Address::read("postgres://u:hunter2@127.0.0.1/d").unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
