//! A terminal with a program in it: what is typed, what is shown, and how it is left.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::world::{Run, World, binary, wait_until};

/// A program on a terminal of its own. Its stdout is no part of the terminal.
pub(crate) struct Terminal {
    child: Child,
    main: File,
    /// Kept open, so that the terminal outlives the program.
    side: File,
    shown: Arc<Mutex<Vec<u8>>>,
    /// Reads until nobody has the terminal any more.
    reader: JoinHandle<()>,
    /// How much of what was shown has been waited for.
    seen: usize,
}

impl Terminal {
    /// Starts a command of the binary in a session whose terminal this is: only so it gets interrupts.
    pub(crate) fn start(world: &World, args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::on(pair(), Stdio::piped(), world, args, variables)
    }

    /// Starts a command like [`start`](Self::start) whose stdout is the terminal, too.
    pub(crate) fn start_with_stdout(world: &World, args: &[&str]) -> Self {
        let (main, side) = pair();
        set_size(&side, 120);
        let stdout = side.try_clone().unwrap().into();
        Self::on((main, side), stdout, world, args, &[])
    }

    fn on(
        (main, side): (File, File),
        stdout: Stdio,
        world: &World,
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = Command::new("setsid");
        command
            .arg("-c")
            .arg(binary())
            .args(args)
            .current_dir(world.project())
            .env_clear()
            .envs(world.environment())
            .envs(variables.iter().copied())
            .stdin(side.try_clone().unwrap())
            .stderr(side.try_clone().unwrap())
            .stdout(stdout);
        let child = command.spawn().unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut output, kept) = (main.try_clone().unwrap(), Arc::clone(&shown));
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 1024];
            while let Ok(count @ 1..) = output.read(&mut piece) {
                kept.lock().unwrap().extend_from_slice(&piece[..count]);
            }
        });
        Self {
            child,
            main,
            side,
            shown,
            reader,
            seen: 0,
        }
    }

    /// Returns the number of the process.
    pub(crate) fn pid(&self) -> u64 {
        u64::from(self.child.id())
    }

    /// Returns everything that was shown.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Waits until the text is shown after what was waited for before.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) -> &mut Self {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let screen = self.screen();
            if let Some(at) = screen[self.seen..].find(text) {
                self.seen += at + text.len();
                return self;
            }
            let screen = screen.escape_debug();
            assert!(
                Instant::now() < deadline,
                "the terminal lacks `{text}`: {screen}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Types a line.
    pub(crate) fn types(&mut self, line: &str) -> &mut Self {
        self.main.write_all(format!("{line}\n").as_bytes()).unwrap();
        self
    }

    /// Types a secret, once the terminal does not show what is typed.
    #[track_caller]
    pub(crate) fn types_hidden(&mut self, line: &str) -> &mut Self {
        self.hides().types(line)
    }

    /// Waits until the terminal does not show what is typed.
    #[track_caller]
    pub(crate) fn hides(&mut self) -> &mut Self {
        wait_until("the terminal hides what is typed", || !self.echoes());
        self
    }

    /// Types Ctrl-C.
    pub(crate) fn interrupts(&mut self) -> &mut Self {
        self.main.write_all(b"\x03").unwrap();
        self
    }

    /// Tells whether the terminal shows what is typed.
    pub(crate) fn echoes(&self) -> bool {
        let modes = tcgetattr(&self.side).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON)
    }

    /// Waits for the end; stderr is what the terminal showed.
    pub(crate) fn end(mut self) -> Run {
        let mut stdout = Vec::new();
        if let Some(mut pipe) = self.child.stdout.take() {
            pipe.read_to_end(&mut stdout).unwrap();
        }
        let status = self.child.wait().unwrap();
        assert!(self.echoes(), "the terminal is left as it was");
        drop(self.side);
        self.reader.join().unwrap();
        let stderr = self.shown.lock().unwrap().clone();
        let output = Output {
            status,
            stdout,
            stderr,
        };
        output.into()
    }
}

/// Returns the two ends of a new terminal.
fn pair() -> (File, File) {
    let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&main).unwrap();
    unlockpt(&main).unwrap();
    let name = ptsname(&main, Vec::new()).unwrap();
    // A test that leads a session would get it as its own terminal, and be hung up when it is closed.
    let mut options = File::options();
    options.custom_flags(OFlags::NOCTTY.bits().cast_signed());
    let side = options.read(true).write(true).open(name.to_str().unwrap());
    (File::from(main), side.unwrap())
}

/// Runs a command to its end on a terminal of this width and returns what it wrote to stdout and stderr.
pub(crate) fn on_terminal(world: &World, columns: u16, args: &[&str]) -> String {
    run_on_terminal(world, columns, args, &[]).stdout
}

/// Runs a command in the same way, with these variables, too. Its stdout is what the terminal showed.
pub(crate) fn run_on_terminal(
    world: &World,
    columns: u16,
    args: &[&str],
    variables: &[(&str, &str)],
) -> Run {
    let (mut main, side) = pair();
    set_size(&side, columns);
    let mut command = world.command(args);
    command.envs(variables.iter().copied());
    command.stdout(side.try_clone().unwrap()).stderr(side);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut shown = Vec::new();
    // The read ends with an error when the last process that holds the terminal has gone.
    let _ = main.read_to_end(&mut shown);
    let status = child.wait().unwrap();
    let shown = String::from_utf8(shown).unwrap().replace("\r\n", "\n");
    let output = Output {
        status,
        stdout: shown.into_bytes(),
        stderr: Vec::new(),
    };
    output.into()
}

fn set_size(side: &File, columns: u16) {
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(side, size).unwrap();
}
