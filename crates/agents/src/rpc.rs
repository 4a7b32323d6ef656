//! Messages of JSON-RPC 2.0, one a line. The clients of the Agent Client Protocol and of the Model Context Protocol interpret
//! them.

use serde_json::{Value, json};

/// The error code for a method that we do not have.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// A message from the other side.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// The answer to a request of ours.
    Reply {
        id: u64,
        result: Result<Value, RpcError>,
    },
    /// A request of the other side. Our answer returns its id unchanged.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    /// A notification of the other side.
    Notification { method: String, params: Value },
}

/// Why a request of ours was refused.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    /// The message, with its details if there are any.
    pub(crate) message: String,
}

/// Reads a line; `None` if it is not a message, such as output of a library.
pub(crate) fn read(line: &str) -> Option<Incoming> {
    let mut message: Value = serde_json::from_str(line).ok()?;
    let fields = message.as_object_mut()?;
    let id = fields.remove("id").filter(|id| !id.is_null());
    let params = fields.remove("params").unwrap_or_default();
    let method = fields.get("method").map(|method| method.as_str());
    match (method, id) {
        (Some(method), Some(id)) => Some(Incoming::Request {
            id,
            method: method?.to_owned(),
            params,
        }),
        (Some(method), None) => Some(Incoming::Notification {
            method: method?.to_owned(),
            params,
        }),
        (None, id) => {
            let result = match fields.remove("error").filter(|error| !error.is_null()) {
                Some(error) => Err(rpc_error(&error)),
                None => Ok(fields.remove("result")?),
            };
            let id = id?.as_u64()?;
            Some(Incoming::Reply { id, result })
        }
    }
}

fn rpc_error(error: &Value) -> RpcError {
    let message = error["message"].as_str().unwrap_or("no message");
    let data = &error["data"];
    let named = ["details", "message"].map(|name| data[name].as_str());
    let details = data.as_str().or(named[0]).or(named[1]);
    RpcError {
        code: error["code"].as_i64().unwrap_or_default(),
        message: match details {
            Some(details) => format!("{message}: {details}"),
            None => message.to_owned(),
        },
    }
}

/// Writes a request of ours, without the end of the line.
pub(crate) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// Writes a notification, which has no answer.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

/// Writes the answer to a request of the other side.
pub(crate) fn reply(id: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

/// Writes the answer to a request for a method that we do not have.
pub(crate) fn not_found(id: &Value, method: &str) -> String {
    let message = format!("this client has no `{method}`");
    let error = json!({ "code": METHOD_NOT_FOUND, "message": message });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let reply = Incoming::Reply {
            id: 3,
            result: Ok(json!({ "a": 1 })),
        };
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":3,"result":{"a":1}}"#),
            Some(reply)
        );
        let request = Incoming::Request {
            id: json!(0),
            method: "fs/read_text_file".to_owned(),
            params: json!({ "path": "/x" }),
        };
        assert_eq!(
            read(r#"{"id":0,"method":"fs/read_text_file","params":{"path":"/x"}}"#),
            Some(request)
        );
        let notification = Incoming::Notification {
            method: "session/update".to_owned(),
            params: Value::Null,
        };
        assert_eq!(read(r#"{"method":"session/update"}"#), Some(notification));
    }

    #[test]
    fn an_error_has_its_details() {
        for name in ["details", "message"] {
            let error = json!({ "code": -32603, "message": "Internal error", "data": { name: "no model" } });
            let line = json!({ "id": 2, "error": error }).to_string();
            let error = RpcError {
                code: -32603,
                message: "Internal error: no model".to_owned(),
            };
            assert_eq!(
                read(&line),
                Some(Incoming::Reply {
                    id: 2,
                    result: Err(error)
                })
            );
        }
    }

    #[test]
    fn what_is_no_message_is_nothing() {
        for line in [
            "",
            "hello",
            "[]",
            "3",
            "{}",
            r#"{"id":1}"#,
            r#"{"id":"x","result":{}}"#,
            r#"{"id":1,"method":7}"#,
            r#"{"id":1,"resu"#,
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
