//! Commits of the past.

use super::super::Result;
use super::super::answer::LoggedCommit;
use super::super::bounds::{LIST_BYTES, MESSAGE_BYTES};
use super::super::request::LogRequest;
use super::GitRepository;

/// One field after the other, each ended by a zero byte, which no field has.
const FORMAT: &str = "--format=tformat:%H%x00%P%x00%an%x00%ae%x00%aI%x00%cI%x00%s%x00%B";
const FIELDS: usize = 8;

impl GitRepository {
    pub(super) fn list(&self, request: &LogRequest) -> Result<Vec<LoggedCommit>> {
        request.check()?;
        let to = match &request.to {
            Some(to) => Some(self.revision(to)?),
            None => self.head()?,
        };
        let from = request.from.as_deref().map(|from| self.revision(from)).transpose()?;
        self.list_between(from, to, request)
    }

    /// The same between these two commits, which are full ids.
    pub(in crate::version_control) fn list_between(
        &self,
        from: Option<String>,
        to: Option<String>,
        request: &LogRequest,
    ) -> Result<Vec<LoggedCommit>> {
        // Before the first commit there are none.
        let Some(to) = to else { return Ok(Vec::new()) };
        let mut question = vec![
            "log".to_owned(),
            "-z".to_owned(),
            "--encoding=UTF-8".to_owned(),
            "--no-color".to_owned(),
            FORMAT.to_owned(),
            format!("--max-count={}", request.limit()),
            to,
        ];
        question.extend(from.map(|from| format!("^{from}")));
        question.push("--".to_owned());
        question.extend(request.paths.iter().cloned());
        let answer = self.answer("log", &self.question(question).cut_output(LIST_BYTES))?;
        let fields: Vec<&[u8]> = answer.output.split(|byte| *byte == 0).collect();
        Ok(fields.chunks_exact(FIELDS).map(read).collect())
    }
}

fn read(fields: &[&[u8]]) -> LoggedCommit {
    let field = |index: usize| short(fields[index]);
    LoggedCommit {
        sha: field(0),
        parents: field(1).split_whitespace().map(str::to_owned).collect(),
        author_name: field(2),
        author_email: field(3),
        authored_at: field(4),
        committed_at: field(5),
        subject: field(6),
        message: field(7).trim_end().to_owned(),
    }
}

/// The beginning of a long text.
fn short(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    if text.len() > MESSAGE_BYTES {
        text.truncate(text.floor_char_boundary(MESSAGE_BYTES));
        text.push('…');
    }
    text
}
