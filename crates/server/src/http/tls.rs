//! TLS from a certificate and a key in files. They are looked at again every so often, so that a renewed certificate is
//! used without a restart; one that cannot be read leaves the old one in use.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// How often the files are looked at.
const EVERY: Duration = Duration::from_secs(60);

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The certificate and those above it, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTls {
    /// A file cannot be read.
    #[error("`{file}` holds no {what} that can be read: {why}")]
    File {
        /// Which.
        file: PathBuf,
        /// What should be in it.
        what: &'static str,
        /// The reason.
        why: String,
    },
    /// The two do not belong together.
    #[error("the certificate and the key cannot be used together: {0}")]
    Pair(String),
}

/// A certificate that is kept up to date.
#[derive(Debug)]
pub(crate) struct Tls {
    files: Files,
    current: RwLock<(Stamp, Arc<ServerConfig>)>,
}

type Stamp = [Option<SystemTime>; 2];

impl Tls {
    /// Reads the files for the first time.
    pub(crate) fn open(files: Files) -> Result<Self, BadTls> {
        let (stamp, config) = (stamp(&files), Arc::new(read(&files)?));
        Ok(Self { files, current: RwLock::new((stamp, config)) })
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&current.1))
    }

    /// Looks at the files again and again.
    pub(crate) async fn keep_up(&self) {
        loop {
            tokio::time::sleep(EVERY).await;
            self.look();
        }
    }

    fn look(&self) {
        let now = stamp(&self.files);
        if self.current.read().unwrap_or_else(PoisonError::into_inner).0 == now {
            return;
        }
        if let Ok(config) = read(&self.files) {
            *self.current.write().unwrap_or_else(PoisonError::into_inner) = (now, Arc::new(config));
        }
    }
}

fn stamp(files: &Files) -> Stamp {
    let modified = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    [modified(&files.certificate), modified(&files.key)]
}

fn read(files: &Files) -> Result<ServerConfig, BadTls> {
    let bad = |file: &Path, what, why: String| BadTls::File { file: file.to_owned(), what, why };
    let unreadable = |error: rustls::pki_types::pem::Error| bad(&files.certificate, "certificate", error.to_string());
    let chain = CertificateDer::pem_file_iter(&files.certificate).map_err(unreadable)?;
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(unreadable)?;
    if chain.is_empty() {
        return Err(bad(&files.certificate, "certificate", "it is empty".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key);
    let key = key.map_err(|error| bad(&files.key, "private key", error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let pair = |error: rustls::Error| BadTls::Pair(error.to_string());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(pair)?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key).map_err(pair)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
