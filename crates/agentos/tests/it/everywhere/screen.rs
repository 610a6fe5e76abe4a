//! `agentos top` in a real terminal: it draws, hears keys, and gives the terminal back.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use rustix::fs::OFlags;
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::Site;
use crate::support::{name, wait_until};

/// Begins and ends the other screen of a terminal.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// A terminal with `agentos top` in it.
struct Top {
    keys: File,
    written: Arc<Mutex<String>>,
    child: std::process::Child,
}

impl Top {
    fn start(site: &Site) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("it may be used");
        let size = Winsize { ws_row: 30, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("it has a size");
        let path = ptsname(&master, Vec::new()).expect("a name").into_string().expect("text");
        let call =
            site.stand.call(&site.root, &["top"]).env("TERM", "xterm").env("LANG", "C.UTF-8");
        let child = in_terminal(&call.command, Path::new(&path)).spawn().expect("it starts");
        let keys = File::from(master);
        let (mut out, written) = (keys.try_clone().expect("another handle"), Arc::default());
        let seen: Arc<Mutex<String>> = Arc::clone(&written);
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                seen.lock()
                    .expect("nobody panics")
                    .push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { keys, written, child }
    }

    fn written(&self) -> String {
        self.written.lock().expect("nobody panics").clone()
    }

    fn until_shown(&self, what: &str) {
        wait_until(&format!("`{what}` is shown"), || self.written().contains(what));
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("it reads");
    }

    fn end(&mut self) -> Option<i32> {
        let status = self.child.wait().expect("it ends");
        wait_until("the terminal is given back", || self.written().contains(LEAVE));
        status.code()
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// The same program, as the first of a session that has this terminal.
#[expect(clippy::disallowed_methods, reason = "a test ends what it has started")]
fn in_terminal(program: &Command, terminal: &Path) -> Command {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = i32::try_from(OFlags::NOCTTY.bits()).expect("a flag");
    let open = || {
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(terminal);
        opened.expect("the terminal can be opened")
    };
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(program.get_program()).args(program.get_args());
    command.current_dir(program.get_current_dir().expect("a folder")).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(open()).stdout(open()).stderr(open());
    command
}

#[test]
fn runs_appear_are_answered_and_cancelled_and_the_terminal_is_given_back() {
    let site = Site::new();
    let one = site.worktree("one");
    let greeted = name(&site.greet(&site.root));
    let mut top = Top::start(&site);
    top.until_shown(ENTER);
    top.until_shown(&greeted);
    site.stand.run(&one, &["run", "ask", "--detach"]).exits(0);
    let asked = name(&site.stand.only(&one, "ask"));
    top.until_shown(&asked);
    // The latest run is the first of the list.
    top.press("g");
    top.until_shown("Shall we?");
    top.press("a");
    top.until_shown("deny");
    top.press("y");
    site.stand.until_status(&site.root, &asked, "COMPLETED");
    site.stand.run(&one, &["run", "nap", "--input", "ms=600000", "--detach"]).exits(0);
    let napping = name(&site.stand.only(&one, "nap"));
    top.until_shown(&napping);
    top.press("gc");
    top.until_shown("ended.");
    top.press("y");
    site.stand.until_status(&site.root, &napping, "CANCELLED");
    top.press("/nothing-like-this\r");
    top.until_shown("fits");
    top.press("\x1b");
    top.press("q");
    assert_eq!(top.end(), Some(0));
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let site = Site::new();
    let greeted = name(&site.greet(&site.root));
    let mut top = Top::start(&site);
    top.until_shown(&greeted);
    // `setsid` has become the program: only the first of a group of processes would start another one.
    let pid = i32::try_from(top.child.id()).expect("an id");
    crate::support::kill(pid, Signal::TERM);
    top.end();
}

#[test]
fn without_a_terminal_the_other_command_is_named() {
    let site = Site::new();
    let told = site.stand.run(&site.root, &["top"]).exits(2);
    assert!(told.err.contains("status --watch"), "{told:#?}");
}
