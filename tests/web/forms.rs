//! Forms as a browser sends them.

use url::form_urlencoded::Serializer;

use crate::web_client::{Answer, Server};

/// A person who logged in.
pub(crate) struct Person<'a> {
    server: &'a Server,
    cookie: String,
}

impl<'a> Person<'a> {
    pub(crate) fn of(server: &'a Server) -> Self {
        Self {
            cookie: server.log_in(),
            server,
        }
    }

    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Returns a page.
    pub(crate) fn look(&self, path: &str) -> Answer {
        self.server.ask("GET", path, &[&self.cookie], "")
    }

    /// Opens a page with a form, fills these fields in, and sends the form to the same address.
    #[track_caller]
    pub(crate) fn fill(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let page = self.look(path);
        assert_eq!(page.status, 200, "{path}: {}", page.body);
        self.send(&page, path, fields)
    }

    /// Sends the form of a page that was opened before.
    pub(crate) fn send(&self, page: &Answer, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut form = Serializer::new(String::new());
        for name in ["key", "once", "head", "shown"] {
            if let Some(value) = hidden(&page.body, name) {
                form.append_pair(name, &value.replace("&amp;", "&"));
            }
        }
        form.extend_pairs(fields);
        self.server.post(path, &[&self.cookie], &form.finish())
    }
}

/// Returns the value of a hidden field.
pub(crate) fn hidden(page: &str, name: &str) -> Option<String> {
    let rest = page.split(&format!("name=\"{name}\" value=\"")).nth(1)?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// Returns the address to which an answer leads.
#[track_caller]
pub(crate) fn leads(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{}", answer.body);
    answer.header("location").unwrap().to_owned()
}
