//! `resume --latest` beside a server, which may drive the run as soon as it is moved.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use super::{Place, work};
use crate::server::stage::Server;
use crate::support::{Call, wait_until};

impl Place {
    fn begin(&self, arguments: &[&str]) -> Call {
        let agentos = Path::new(env!("CARGO_BIN_EXE_agentos"));
        let call = self.stand.call_program(agentos, &self.root, arguments);
        call.without("AGENTOS_WORKSPACE_KIND")
    }

    fn serve(&self) -> Server {
        Server::of(self.begin(&["serve", "--port", "0"]))
    }

    /// The workflow ends with a command from now on, which goes on when the test lets it.
    fn end_with_a_command(&self) {
        let command = "touch driven; until [ -e go-on ]; do sleep 0.05; done";
        let end = format!("await ctx.shell({command:?});\nreturn \"new\";");
        self.write(&work("implement", "old").replace("await ctx.waitFor(\"go\");", &end));
    }
}

#[test]
fn a_run_that_a_server_drives_as_soon_as_it_is_moved_was_left_to_it() {
    let place = Place::new(&work("implement", "old"));
    let run = place.until_it_waits();
    let server = place.serve();
    place.end_with_a_command();
    // The command stops at what it tells after the run is moved: the pipe is full.
    let (mut told, mut full) = std::io::pipe().expect("a pipe");
    let size = rustix::pipe::fcntl_getpipe_size(&full).expect("its size");
    full.write_all(&vec![b'.'; size]).expect("it has room");
    let mut call = place.begin(&["resume", &run, "--latest", "--detach"]);
    call.command.stderr(Stdio::from(full));
    let process = call.start();
    wait_until("the server drives the run", || place.root.join("driven").exists());
    let mut text = String::new();
    told.read_to_string(&mut text).expect("text");
    let done = process.done();
    assert_eq!(done.code, Some(0), "{}", text.trim_start_matches('.'));
    assert!(text.ends_with("the run goes on with the latest source\n"), "{text}");
    fs::write(place.root.join("go-on"), "").expect("a file");
    assert_eq!(place.stand.until_status(&place.root, &run, "COMPLETED")["output"], "new");
    server.stop();
}

#[test]
fn a_run_that_is_moved_by_a_command_which_stays_is_driven_by_it() {
    let place = Place::new(&work("implement", "old"));
    let run = place.until_it_waits();
    let server = place.serve();
    place.end_with_a_command();
    fs::write(place.root.join("go-on"), "").expect("a file");
    let ended = place.call(&["resume", &run, "--latest", "--json"]).exits(0).document();
    assert_eq!(ended["output"], "new");
    server.stop();
}
