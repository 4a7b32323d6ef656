//! The fields of a form or of an address.

use url::form_urlencoded;

/// The names of the fields of forms for acts.
pub(crate) mod field {
    pub(crate) const HEAD: &str = "head";
    pub(crate) const PROMPT: &str = "prompt";
    pub(crate) const COUNT: &str = "count";
    pub(crate) const RAISE: &str = "raise";
    pub(crate) const ACCEPT: &str = "accept";
    pub(crate) const RESTORE: &str = "restore";
    pub(crate) const MESSAGE: &str = "message";
    pub(crate) const STEP: &str = "step";
    pub(crate) const NAME: &str = "name";
    pub(crate) const LABELS: &str = "labels";
    /// Says that the form has the name and all labels: those that it lacks are removed.
    pub(crate) const WHOLE: &str = "whole";
    /// The name and the labels that the page of the form showed, as the query of an address.
    pub(crate) const SHOWN: &str = "shown";
    pub(crate) const WORKFLOW: &str = "workflow";
    pub(crate) const CWD: &str = "cwd";
    /// Says what to do after the start of a thread.
    pub(crate) const THEN: &str = "then";
}

/// The fields of a form, or of the query of an address. An empty field counts as absent. Several fields may have one name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Fields {
    pub(crate) fn parse(text: &str) -> Self {
        Self::of(form_urlencoded::parse(text.as_bytes()).into_owned())
    }

    pub(crate) fn of(fields: impl IntoIterator<Item = (String, String)>) -> Self {
        let fields = fields.into_iter();
        Self(fields.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// Returns the first value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns every value of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.0.iter().filter(move |(field, _)| field == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the fields as the query of an address, with this value as the only one of a name; without that name if there is no
    /// value.
    pub(crate) fn with(&self, name: &str, value: Option<&str>) -> String {
        let rest = self.0.iter().filter(|(field, _)| field != name);
        let mut text = form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(rest);
        if let Some(value) = value {
            text.append_pair(name, value);
        }
        text.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_keeps_its_other_fields() {
        let query = Fields::parse("status=idle&q=a%20b&status=failed&workflow=");
        assert_eq!(query.get("q"), Some("a b"));
        assert_eq!(query.get("workflow"), None);
        assert_eq!(query.all("status").collect::<Vec<_>>(), ["idle", "failed"]);
        let next = query.with("before", Some("01&"));
        assert_eq!(next, "status=idle&q=a+b&status=failed&before=01%26");
        assert_eq!(query.with("status", None), "q=a+b");
    }
}
