//! A file system of a few megabytes, in a namespace of mounts that goes with its holder.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use crate::support::{Call, Process, Stand};

/// A process that holds a small file system. Only what is called through it sees that.
pub(crate) struct SmallDisk {
    holder: Process,
    /// Where it is mounted.
    pub(crate) place: PathBuf,
}

impl SmallDisk {
    /// A disk with these options of tmpfs.
    pub(crate) fn new(stand: &Stand, options: &str) -> Self {
        let place = stand.folder("small");
        let script = format!(
            "mount -t tmpfs -o {options} none {} && echo mounted && exec sleep 1000",
            place.display()
        );
        let unshare = Path::new("/usr/bin/unshare");
        let call = stand.call_program(unshare, &place, &["-rm", "sh", "-c", &script]);
        let mut holder = call.start();
        let mut said = String::new();
        let out = holder.child().stdout.take().expect("it can be read");
        BufReader::new(out).read_line(&mut said).expect("it can be read");
        assert_eq!(said, "mounted\n", "a file system can be mounted in a namespace of one's own");
        Self { holder, place }
    }

    /// A program where that disk is seen.
    pub(crate) fn call(&mut self, stand: &Stand, folder: &Path, words: &[&str]) -> Call {
        let pid = self.holder.pid().to_string();
        // The folder may be on the disk, which is not seen before it is entered.
        let go = ["sh", "-c", "cd \"$0\" && exec \"$@\"", folder.to_str().expect("text")];
        let enter = ["-t", &pid, "-U", "-m", "--preserve-credentials", "--"];
        let enter = [&enter[..], &go[..]].concat();
        let nsenter = Path::new("/usr/bin/nsenter");
        stand.call_program(nsenter, Path::new("/"), &[&enter[..], words].concat())
    }

    /// A line of the shell, executed where the disk is mounted.
    pub(crate) fn shell(&mut self, stand: &Stand, line: &str) -> String {
        let place = self.place.clone();
        self.call(stand, &place, &["sh", "-c", line]).done().exits(0).out
    }
}
