//! The encryption of a connection, and the authorities whose certificates count.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use rustls_platform_verifier::BuilderVerifierExt;

use uwf_remote::RemoteError;

/// Returns a client that checks the certificate and the name of a server. If there is a file, only its authorities count, otherwise
/// those of the system.
///
/// # Errors
/// [`RemoteError::Unprepared`] if the authorities cannot be read.
pub(crate) fn client(authorities: Option<&Path>) -> Result<ClientConfig, RemoteError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_safe_default_protocol_versions()
        .map_err(|problem| unusable(problem.to_string()))?;
    let Some(file) = authorities else {
        let builder = builder.with_platform_verifier().map_err(|problem| {
            unusable(format!(
                "the authorities of this system cannot be used: {problem}"
            ))
        })?;
        return Ok(builder.with_no_client_auth());
    };
    let unusable = |problem: String| {
        unusable(format!(
            "{}: {problem}; `sslrootcert` in the address must name a file of certificates, in PEM",
            file.display()
        ))
    };
    let mut roots = RootCertStore::empty();
    let pem = std::fs::read(file).map_err(|problem| unusable(problem.to_string()))?;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|problem| unusable(problem.to_string()))?;
        roots
            .add(certificate)
            .map_err(|problem| unusable(problem.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unusable("it has no certificate in it".into()));
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Returns the error for an encryption that cannot be used.
fn unusable(problem: String) -> RemoteError {
    RemoteError::Unprepared(problem)
}

/// Returns the cryptography, with P-256 first. PostgreSQL before version 18 has no other group, and would need one more round trip
/// to ask for it.
fn provider() -> CryptoProvider {
    let mut provider = ring::default_provider();
    provider
        .kx_groups
        .sort_by_key(|group| group.name() != rustls::NamedGroup::secp256r1);
    provider
}
