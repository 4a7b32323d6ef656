//! Makes a server ask for a password, and show a certificate.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};

use crate::admin::Admin;

/// Makes a user who may do everything, but needs a password. The server asks for it when it has started again.
pub(crate) fn ask_for_password(admin: &Admin, user: &str, password: &str) {
    admin.run("SET password_encryption = 'scram-sha-256'");
    admin.run(&format!(
        "CREATE ROLE {user} SUPERUSER LOGIN PASSWORD '{password}'"
    ));
    give(
        &folder_of(admin),
        "pg_hba.conf",
        &format!(
            "local all all trust\nhost all {user} all scram-sha-256\nhost all all all trust\n"
        ),
    );
}

/// Writes a file into the folder of a server, which alone may read it.
pub(crate) fn give(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    fs::write(&file, text).expect("a file can be written");
    let owner = fs::metadata(folder).expect("there is a folder");
    chown(&file, Some(owner.uid()), Some(owner.gid())).expect("the server may have it");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is private");
}

pub(crate) fn folder_of(admin: &Admin) -> PathBuf {
    PathBuf::from(admin.row("SHOW data_directory"))
}

/// An authority of its own, and what a server needs that shows a certificate for 127.0.0.1 until the end of this year.
pub(crate) struct Authority {
    pub(crate) pem: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
}

pub(crate) fn authority(until_year: i32) -> Authority {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    leaf.not_after = date_time_ymd(until_year, 1, 1);
    Authority {
        pem: authority.pem(),
        certificate: leaf.signed_by(&key, &authority).unwrap().pem(),
        key: key.serialize_pem(),
    }
}
