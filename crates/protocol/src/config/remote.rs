//! Where threads are shared, as the config says it.

use serde::{Deserialize, Serialize};

/// The remote of a root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RemoteConfig {
    /// The address of the server, such as `postgres://uwf@db.example.org/uwf`, without a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The schema of the database; [`SCHEMA`](Self::SCHEMA) if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// How long a lease lasts without being renewed; [`LEASE`](Self::LEASE) if absent. A step renews it four times in that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
}

impl RemoteConfig {
    /// The schema, if the config does not say.
    pub const SCHEMA: &str = "uwf";
    /// How long a lease lasts, if the config does not say.
    pub const LEASE: &str = "2m";
    /// How long a lease lasts at least, in milliseconds. A shorter one would end before it can be renewed.
    pub const LEAST_LEASE_MS: u64 = 1_000;
    /// How long a lease lasts at most, in milliseconds: 30 days. Other machines wait this long for a machine that died.
    pub const LONGEST_LEASE_MS: u64 = 30 * 24 * 60 * 60 * 1_000;
    /// The variable with the password, in `.env` or in the environment.
    pub const PASSWORD: &str = "UWF_REMOTE_PASSWORD";
    /// The variable with the name of the key of an S3 storage.
    pub const S3_ID: &str = "AWS_ACCESS_KEY_ID";
    /// The variable with the key of an S3 storage.
    pub const S3_SECRET: &str = "AWS_SECRET_ACCESS_KEY";
    /// The variable with the token that belongs to a passing key of an S3 storage.
    pub const S3_TOKEN: &str = "AWS_SESSION_TOKEN";
    /// The variable with the key of an Azure storage.
    pub const AZURE_KEY: &str = "AZURE_STORAGE_ACCOUNT_KEY";
    /// The variables with the keys of all object storages, in `.env` or in the environment. Other programs know them by these names,
    /// too. The name of a key is of no use without the key.
    pub const STORAGE_KEYS: [&str; 4] = [
        Self::S3_ID,
        Self::S3_SECRET,
        Self::S3_TOKEN,
        Self::AZURE_KEY,
    ];

    /// Returns where the remote is: the address of the server without the user, and the schema. `None` if there is no remote.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        let url = self.url.as_deref()?;
        let schema = self.schema.as_deref().unwrap_or(Self::SCHEMA);
        let Some((kind, rest)) = url.split_once("://") else {
            return Some(format!("{url} {schema}"));
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let user = rest[..end].rfind('@').map_or(0, |at| at + 1);
        Some(format!("{kind}://{} {schema}", &rest[user..]))
    }

    /// Tells whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_has_one_place_for_all_users() {
        let place = |url: &str, schema: Option<&str>| {
            let remote = RemoteConfig {
                url: Some(url.to_owned()),
                schema: schema.map(str::to_owned),
                lease: None,
            };
            remote.place().expect("there is a remote")
        };
        let owner = place("postgres://owner@host:5433/db?sslmode=require", None);
        assert_eq!(owner, "postgres://host:5433/db?sslmode=require uwf");
        assert_eq!(
            place("postgres://host:5433/db?sslmode=require", None),
            owner
        );
        assert_ne!(
            place("postgres://host/db", None),
            place("postgres://host/db", Some("team"))
        );
        assert_ne!(place("s3://bucket", None), place("az://bucket", None));
        let file = place("postgres://u@host/db?sslrootcert=/c/ca@prod.pem", None);
        assert_eq!(file, "postgres://host/db?sslrootcert=/c/ca@prod.pem uwf");
        assert_eq!(RemoteConfig::default().place(), None);
    }
}
