//! A command that writes its answer and nothing else. There is no word about the end, so its exit status alone decides.

use agentos_process::exit::Exit;

use crate::account::Account;
use crate::agent::Translator;
use crate::bounds::{TEXT_BYTES, WHOLE_ANSWER_BYTES, cut};
use crate::event::AgentEvent;
use crate::verdict::Verdict;

/// Reads an answer, line by line.
#[derive(Debug, Default)]
pub(crate) struct Text {
    account: Account,
    answer: String,
}

impl Translator for Text {
    fn feed(&mut self, line: &str) -> Vec<AgentEvent> {
        let room = WHOLE_ANSWER_BYTES.saturating_sub(self.answer.len() + 1);
        self.answer.push_str(&line[..line.floor_char_boundary(room)]);
        if room > line.len() {
            self.answer.push('\n');
        }
        vec![AgentEvent::Text { text: cut(line, TEXT_BYTES), partial: false }]
    }

    fn finish(&mut self, exit: &Exit, complaints: &str) -> Verdict {
        self.account.said(self.answer.trim_end());
        if exit.exit_code == Some(0) {
            let _nobody_hears = self.account.ended(Ok(()));
        }
        self.account.verdict(exit, complaints, |_| None)
    }
}
