//! An authority made for the test, and servers that it vouches for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;

/// An authority, and a file with its certificate.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: PathBuf,
}

impl Authority {
    pub(crate) fn new(folder: &Path) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let file = folder.join("authority.pem");
        std::fs::write(&file, issuer.pem()).unwrap();
        Self { issuer, file }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// A server's side for this name.
    pub(crate) fn server(&self, name: &str) -> Arc<rustls::ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &self.issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
            .unwrap();
        Arc::new(config)
    }
}
