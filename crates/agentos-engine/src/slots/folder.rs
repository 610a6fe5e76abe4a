//! The folder of the queue, and what is done in it: by one at a time, who holds the lock of `gate`.
//!
//! A ticket is `tickets/{number}.slot`: a letter that says whether it is in (`h`) or waits (`w`), and what is wanted. It is locked
//! for as long as somebody lives who has it. `gate` counts how often somebody has looked who can come in.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::claim::{Claim, Wish};
use super::decide::{self, Found};

const GATE: &str = "gate";
const TICKETS: &str = "tickets";
const SUFFIX: &str = ".slot";
const IS_IN: u8 = b'h';
const WAITS: u8 = b'w';

/// Nobody wants so much that it would not fit.
const TICKET_BYTES: u64 = 1 << 16;

/// The folder of the queue.
#[derive(Debug)]
pub(super) struct Folder {
    gate: PathBuf,
    tickets: PathBuf,
}

impl Folder {
    pub(super) fn at(path: &Path) -> Self {
        Self { gate: path.join(GATE), tickets: path.join(TICKETS) }
    }

    /// Where the tickets are.
    pub(super) fn tickets(&self) -> &Path {
        &self.tickets
    }

    pub(super) fn ticket_path(&self, name: &str) -> PathBuf {
        self.tickets.join(name)
    }

    /// Enters the queue: the ticket, its name, and why it is not in if it is not.
    pub(super) fn enter(&self, wish: &Wish) -> io::Result<(File, String, Option<String>)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.tickets)?;
        let gate = self.gate()?;
        let mut tickets = self.load()?;
        let last = tickets.last().and_then(|last| number_of(&last.name));
        let name = format!("{:016}{SUFFIX}", last.unwrap_or(0).saturating_add(1));
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.ticket_path(&name))?;
        lock(&file, FlockOperation::LockExclusive)?;
        let text = serde_json::to_string(wish).map_err(io::Error::other)?;
        file.write_all_at(format!("{}\n{text}", char::from(WAITS)).as_bytes(), 0)?;
        tickets.push(Found { name: name.clone(), is_in: false, wish: wish.clone() });
        self.let_in(&mut tickets, &gate)?;
        let why = decide::why_not(&tickets, &name);
        Ok((file, name, why))
    }

    /// Changes what a ticket counts against, and lets in who can come in.
    pub(super) fn change_claims(&self, name: &str, claims: Vec<Claim>) -> io::Result<()> {
        let gate = self.gate()?;
        let mut tickets = self.load()?;
        let Some(found) = tickets.iter_mut().find(|found| found.name == name) else {
            return Ok(());
        };
        found.wish.claims = claims;
        let letter = if found.is_in { IS_IN } else { WAITS };
        let text = serde_json::to_string(&found.wish).map_err(io::Error::other)?;
        let text = format!("{}\n{text}", char::from(letter));
        let ticket = OpenOptions::new().write(true).open(self.ticket_path(name))?;
        ticket.write_all_at(text.as_bytes(), 0)?;
        ticket.set_len(text.len() as u64)?;
        self.let_in(&mut tickets, &gate)
    }

    /// Lets in who can come in; everybody who has a ticket and lives, by name.
    pub(super) fn settle(&self) -> io::Result<Vec<Found>> {
        let gate = self.gate()?;
        let mut tickets = self.load()?;
        self.let_in(&mut tickets, &gate)?;
        Ok(tickets)
    }

    pub(super) fn why_not(&self, name: &str) -> io::Result<Option<String>> {
        Ok(decide::why_not(&self.settle()?, name))
    }

    /// How often it was looked who can come in.
    pub(super) fn looks(&self) -> u64 {
        File::open(&self.gate).map_or(0, |gate| looks(&gate))
    }

    /// Whether a ticket is in.
    pub(super) fn is_in(ticket: &File) -> bool {
        let mut letter = [0];
        ticket.read_exact_at(&mut letter, 0).is_ok() && letter[0] == IS_IN
    }

    fn let_in(&self, tickets: &mut [Found], gate: &File) -> io::Result<()> {
        for fresh in decide::let_in(tickets) {
            // Closing it tells whoever has it.
            let ticket =
                OpenOptions::new().write(true).open(self.ticket_path(&tickets[fresh].name));
            match ticket {
                Ok(ticket) => ticket.write_all_at(&[IS_IN], 0)?,
                // He has just gone. The next who looks sees that.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        gate.write_all_at(&looks(gate).wrapping_add(1).to_le_bytes(), 0)
    }

    fn gate(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let gate = options.open(&self.gate)?;
        lock(&gate, FlockOperation::LockExclusive)?;
        Ok(gate)
    }

    /// Everybody who has a ticket and lives, in the order in which they came. What the dead have left is removed.
    fn load(&self) -> io::Result<Vec<Found>> {
        let mut tickets = Vec::new();
        for entry in fs::read_dir(&self.tickets)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if number_of(&name).is_none() {
                continue;
            }
            match self.load_ticket(&name) {
                Ok(found) => tickets.extend(found),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        tickets.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(tickets)
    }

    fn load_ticket(&self, name: &str) -> io::Result<Option<Found>> {
        let path = self.ticket_path(name);
        let mut file = File::open(&path)?;
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {
                fs::remove_file(&path)?;
                return Ok(None);
            }
            Err(Errno::WOULDBLOCK) => {}
            Err(error) => return Err(error.into()),
        }
        let mut text = String::new();
        file.by_ref().take(TICKET_BYTES).read_to_string(&mut text)?;
        let Some((letter, wish)) = text.split_once('\n') else { return Ok(None) };
        // What can't be read was written by a program that limits something else.
        let Ok(wish) = serde_json::from_str(wish) else { return Ok(None) };
        let is_in = letter.as_bytes() == [IS_IN];
        Ok(Some(Found { name: name.to_owned(), is_in, wish }))
    }
}

fn looks(gate: &File) -> u64 {
    let mut bytes = [0; 8];
    // An empty file is the first look.
    let _short = gate.read_exact_at(&mut bytes, 0);
    u64::from_le_bytes(bytes)
}

fn number_of(name: &str) -> Option<u64> {
    name.strip_suffix(SUFFIX)?.parse().ok()
}

fn lock(file: &File, how: FlockOperation) -> io::Result<()> {
    loop {
        match flock(file, how) {
            Err(Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
}
