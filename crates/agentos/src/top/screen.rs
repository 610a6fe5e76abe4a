//! The terminal while it is ours: its other screen, and keys as they are pressed.
//!
//! It is given back whatever happens: when this is dropped, when something panics, and on every signal that can be heard.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::board::Board;
use super::draw::{Look, draw};

/// How long a key may wait to be read after the screen was given back.
const POLL: Duration = Duration::from_millis(50);

/// Something that happened on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    Key(KeyEvent),
    /// Its size is another.
    Resized,
    /// It is gone.
    Closed,
}

/// The terminal.
pub(super) struct Screen {
    terminal: DefaultTerminal,
    pub(super) input: UnboundedReceiver<Input>,
    is_over: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Screen {
    /// Takes it. From now on a panic gives it back before it is told of.
    pub(super) fn take() -> io::Result<Self> {
        let terminal = ratatui::try_init()?;
        let (tell, input) = unbounded_channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let reader = thread::Builder::new().name("keys".into()).spawn(move || read(&tell, &over));
        // Dropping gives it back, also if nobody reads.
        let mut screen = Self { terminal, input, is_over, reader: None };
        screen.reader = Some(reader?);
        Ok(screen)
    }

    /// Shows the board as it is now.
    pub(super) fn show(&mut self, board: &Board, look: &Look) -> io::Result<()> {
        self.terminal.draw(|frame| draw(frame, board, look)).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            let _ended = reader.join();
        }
        // A terminal that is gone needs nothing back.
        let _restored = ratatui::try_restore();
    }
}

fn read(tell: &UnboundedSender<Input>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let input = match event::poll(POLL) {
            Ok(false) => continue,
            Ok(true) => event::read(),
            Err(error) => Err(error),
        };
        let input = match input {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Input::Key(key),
            Ok(Event::Resize(..)) => Input::Resized,
            Ok(_) => continue,
            Err(_) => Input::Closed,
        };
        if tell.send(input).is_err() || input == Input::Closed {
            return;
        }
    }
}
