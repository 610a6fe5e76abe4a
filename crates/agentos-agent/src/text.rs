//! A command that writes its answer and nothing else. There is no word about the end, so its exit status alone decides.

use agentos_process::exit::Exit;

use crate::account::Account;
use crate::agent::Translator;
use crate::answer::Answer;
use crate::bounds::{TEXT_BYTES, cut};
use crate::event::AgentEvent;
use crate::lines::Loss;
use crate::verdict::Verdict;

/// Reads an answer, line by line.
#[derive(Debug, Default)]
pub(crate) struct Text {
    account: Account,
    answer: Answer,
}

impl Translator for Text {
    fn feed(&mut self, line: &str) -> Vec<AgentEvent> {
        self.begin_line();
        self.answer.push(line);
        vec![AgentEvent::Text { text: cut(line, TEXT_BYTES), partial: false }]
    }

    /// What there is of the line belongs to the answer.
    fn feed_cut(&mut self, beginning: &str, _: Loss) -> Vec<AgentEvent> {
        self.begin_line();
        self.answer.push(beginning);
        self.answer.push_gap();
        let text = cut(&format!("{beginning}…"), TEXT_BYTES);
        vec![AgentEvent::Text { text, partial: false }]
    }

    fn finish(&mut self, exit: &Exit, complaints: &str) -> Verdict {
        let mut answer = std::mem::take(&mut self.answer);
        answer.text.truncate(answer.text.trim_end().len());
        self.account.said_in_pieces(answer);
        if exit.exit_code == Some(0) {
            let _unheard = self.account.ended(Ok(()));
        }
        self.account.verdict(exit, complaints, |_| None)
    }
}

impl Text {
    fn begin_line(&mut self) {
        if !self.answer.is_empty() {
            self.answer.push("\n");
        }
    }
}
