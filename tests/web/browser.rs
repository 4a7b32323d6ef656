//! A real browser without a screen, over the WebDriver protocol. `UWF_TEST_BROWSER=required` makes a missing one an error.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scene::Scene;
use crate::web_client::TOKEN;

/// The name under which WebDriver hands out elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// How long something may take to appear on a page, where no test says another time.
const PATIENCE: Duration = Duration::from_secs(30);

/// Opens a page as somebody who has the token.
pub(crate) fn enter(browser: &Browser, scene: &Scene, path: &str) {
    let next = path
        .replace('/', "%2F")
        .replace('?', "%3F")
        .replace('=', "%3D");
    browser.open(&format!(
        "http://{}/login?next={next}#{TOKEN}",
        scene.server.at
    ));
    browser.wait_for("document.getElementById('fresh')");
    let address = browser.value("location.href");
    assert!(!address.as_str().unwrap().contains(TOKEN), "{address}");
}

/// A browser with its driver. Both end with the value.
pub(crate) struct Browser {
    driver: Child,
    at: String,
    session: String,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let path = format!("/session/{}", self.session);
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.send("DELETE", &path, &json!({}))
        }));
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn is_required() -> bool {
    std::env::var("UWF_TEST_BROWSER").is_ok_and(|value| value == "required")
}

/// Tells that a test is skipped, or fails if it must not be.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skipped<T>(what: &str) -> Option<T> {
    assert!(!is_required(), "{what} is missing, and is required here");
    eprintln!("skipped: {what} is missing");
    None
}

fn found(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut candidates = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    candidates.find(|file| file.is_file())
}

/// Reads an answer of the driver, which keeps its connections open, and returns the body.
fn body_of(answer: &mut impl BufRead) -> Vec<u8> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        answer.read_line(&mut line).unwrap();
        let Some((name, value)) = line.split_once(':') else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    answer.read_exact(&mut body).unwrap();
    body
}

impl Browser {
    /// Starts a browser; `None` if there is none.
    #[track_caller]
    pub(crate) fn start() -> Option<Self> {
        let (Some(driver), Some(browser)) = (
            found(&["chromedriver"]),
            found(&["chromium", "chromium-browser", "google-chrome"]),
        ) else {
            return skipped("chromium with chromedriver");
        };
        let mut driver = Command::new(driver)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.unwrap();
            let port = line.split_once("started successfully on port ")?.1;
            Some(port.trim_end_matches('.').to_owned())
        });
        let mut started = Self {
            driver,
            at: format!("127.0.0.1:{}", port.unwrap()),
            session: String::new(),
        };
        let mut args = vec!["--headless=new", "--disable-dev-shm-usage", "--disable-gpu"];
        if rustix::process::geteuid().is_root() {
            args.push("--no-sandbox");
        }
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "binary": browser, "args": args },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let session = started.send("POST", "/session", &wanted);
        started.session = session["sessionId"].as_str().unwrap().to_owned();
        Some(started)
    }

    /// Sends a command, and returns its value.
    #[track_caller]
    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let value = self.ask(method, path, body);
        assert!(value["error"].is_null(), "{method} {path}: {value}");
        value
    }

    /// Sends a command, and returns its value, or its error.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = match method {
            "POST" => body.to_string(),
            _ => String::new(),
        };
        let mut stream = TcpStream::connect(&self.at).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.at,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let body = body_of(&mut BufReader::new(stream));
        let mut value: Value = serde_json::from_slice(&body).unwrap();
        value["value"].take()
    }

    #[track_caller]
    fn post(&self, command: &str, body: &Value) -> Value {
        let path = format!("/session/{}/{command}", self.session);
        self.send("POST", &path, body)
    }

    #[track_caller]
    pub(crate) fn open(&self, url: &str) {
        self.post("url", &json!({ "url": url }));
    }

    /// Runs a script in the page, and returns its value.
    #[track_caller]
    pub(crate) fn script(&self, script: &str) -> Value {
        self.post("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Returns the value of an expression.
    #[track_caller]
    pub(crate) fn value(&self, expression: &str) -> Value {
        self.script(&format!("return {expression}"))
    }

    /// Waits until an expression is true, and returns how long that took.
    #[track_caller]
    pub(crate) fn wait_for(&self, expression: &str) -> Duration {
        let begun = Instant::now();
        while self.value(&format!("Boolean({expression})")) != true {
            let shown = || self.value("document.body.innerText");
            assert!(begun.elapsed() < PATIENCE, "{expression}\n{}", shown());
            std::thread::sleep(Duration::from_millis(20));
        }
        begun.elapsed()
    }

    #[track_caller]
    fn element(&self, css: &str) -> String {
        let found = self.post("element", &json!({ "using": "css selector", "value": css }));
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn click(&self, css: &str) {
        self.post(&format!("element/{}/click", self.element(css)), &json!({}));
    }

    #[track_caller]
    pub(crate) fn type_into(&self, css: &str, text: &str) {
        let element = self.element(css);
        self.post(&format!("element/{element}/clear"), &json!({}));
        self.post(
            &format!("element/{element}/value"),
            &json!({ "text": text }),
        );
    }

    /// Returns the text of an element, also where scripts are switched off; nothing while one page takes the place of another.
    pub(crate) fn text(&self, css: &str) -> String {
        let by = json!({ "using": "css selector", "value": css });
        let found = self.ask("POST", &format!("/session/{}/element", self.session), &by);
        let element = found[ELEMENT].as_str().unwrap_or_default();
        let path = format!("/session/{}/element/{element}/text", self.session);
        let text = self.ask("GET", &path, &json!({}));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Presses keys, wherever the focus is.
    #[track_caller]
    pub(crate) fn press(&self, keys: &[&str]) {
        let mut actions = Vec::new();
        for key in keys {
            let key = match *key {
                "Enter" => "\u{e007}",
                "Tab" => "\u{e004}",
                "Escape" => "\u{e00c}",
                other => other,
            };
            actions.push(json!({ "type": "keyDown", "value": key }));
            actions.push(json!({ "type": "keyUp", "value": key }));
        }
        let keyboard = json!({ "type": "key", "id": "keys", "actions": actions });
        self.post("actions", &json!({ "actions": [keyboard] }));
    }

    /// Calls the browser's own protocol.
    #[track_caller]
    pub(crate) fn tell(&self, command: &str, parameters: &Value) {
        let body = json!({ "cmd": command, "params": parameters });
        self.post("goog/cdp/execute", &body);
    }

    /// Shows pages as by day or by night.
    #[track_caller]
    pub(crate) fn scheme(&self, scheme: &str) {
        self.prefer("prefers-color-scheme", scheme);
    }

    /// Tells pages what their reader prefers: a feature of CSS, and no other one.
    #[track_caller]
    pub(crate) fn prefer(&self, feature: &str, value: &str) {
        let features = json!([{ "name": feature, "value": value }]);
        self.tell(
            "Emulation.setEmulatedMedia",
            &json!({ "features": features }),
        );
    }

    /// Makes the screen so wide.
    #[track_caller]
    pub(crate) fn width(&self, width: u32) {
        self.screen(width, 800);
    }

    /// Makes the screen so large.
    #[track_caller]
    pub(crate) fn screen(&self, width: u32, height: u32) {
        let screen = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.tell("Emulation.setDeviceMetricsOverride", &screen);
    }

    /// Opens another tab and goes there. Returns the tab that was there before.
    #[track_caller]
    pub(crate) fn new_tab(&self) -> String {
        let path = format!("/session/{}/window", self.session);
        let before = self.send("GET", &path, &json!({}));
        let new = self.post("window/new", &json!({ "type": "tab" }));
        self.tab(new["handle"].as_str().unwrap());
        before.as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn tab(&self, handle: &str) {
        self.post("window", &json!({ "handle": handle }));
    }

    /// Writes a picture of the page to a folder that `UWF_TEST_PICTURES` names, for people to look at.
    #[track_caller]
    pub(crate) fn picture(&self, name: &str) {
        use base64::Engine as _;
        let Some(folder) = std::env::var_os("UWF_TEST_PICTURES") else {
            return;
        };
        let path = format!("/session/{}/screenshot", self.session);
        let picture = self.send("GET", &path, &json!({}));
        let bytes = base64::engine::general_purpose::STANDARD.decode(picture.as_str().unwrap());
        let file = Path::new(&folder).join(format!("{name}.png"));
        std::fs::write(file, bytes.unwrap()).unwrap();
    }

    /// Asserts that the browser complains about nothing.
    #[track_caller]
    pub(crate) fn complains_of_nothing(&self) {
        let log = self.post("se/log", &json!({ "type": "browser" }));
        let complaints: Vec<&str> = log
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING")
            .filter_map(|entry| entry["message"].as_str())
            .collect();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
}

/// The checks of accessibility, as a script; `None` if they were not installed.
pub(crate) fn axe() -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/web/node_modules");
    match std::fs::read_to_string(folder.join("axe-core/axe.min.js")) {
        Ok(script) => Some(script),
        Err(_) => skipped("axe-core (`npm ci` in tests/web)"),
    }
}

impl Browser {
    /// Returns the mistakes of a page that keep people out.
    #[track_caller]
    pub(crate) fn mistakes(&self, axe: &str, what: &str) -> Vec<String> {
        if self.value("typeof axe") != "object" {
            self.script(axe);
        }
        let script = "const done = arguments[arguments.length - 1];
            axe.run(document).then((found) => done(found.violations.map((one) =>
              one.id + ': ' + one.nodes.slice(0, 3).map((node) => node.html + ' ' + node.failureSummary).join(' | '))));";
        let found = self.post("execute/async", &json!({ "script": script, "args": [] }));
        let found = found.as_array().unwrap().iter();
        found.map(|one| format!("{what}: {one}")).collect()
    }
}
