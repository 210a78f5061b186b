//! Secrets that the server makes: random, shown once, kept as digests. Looking one up by its digest takes the same time
//! whatever was guessed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::problem::Problem;

/// How many letters a secret has.
pub const LETTERS: usize = 43;

/// A new secret of 256 bits.
pub fn fresh() -> Result<String, Problem> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| Problem::Broken)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// A new short name that nobody need keep secret.
pub fn name() -> Result<String, Problem> {
    Ok(fresh()?.chars().filter(char::is_ascii_alphanumeric).take(12).collect())
}

/// What is kept of a secret.
pub fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}
