//! Looking for the commit that an operation has made already.

use super::super::Result;
use super::super::bounds::{MARKED_AMONG, MARKED_BYTES};
use super::super::mark::Mark;
use super::GitRepository;

const FORMAT: &str = "--format=tformat:%H%x00%B";

impl GitRepository {
    /// The commit that carries this mark: among the latest of what is checked out, or of what was checked out lately, in
    /// case somebody has switched or rewritten it since.
    pub(super) fn marked(&self, mark: &Mark) -> Result<Option<String>> {
        if self.head()?.is_none() {
            return Ok(None);
        }
        match self.marked_among(mark, &["HEAD"])? {
            Some(found) => Ok(Some(found)),
            None => self.marked_among(mark, &["--walk-reflogs", "HEAD"]),
        }
    }

    fn marked_among(&self, mark: &Mark, which: &[&str]) -> Result<Option<String>> {
        let most = format!("--max-count={MARKED_AMONG}");
        let question = ["log", "-z", "--encoding=UTF-8", "--no-color", FORMAT, &most];
        let question = question.iter().chain(which).chain(&["--"]).copied();
        let answer = self.answer("log", &self.question(question).cut_output(MARKED_BYTES))?;
        let fields: Vec<&[u8]> = answer.output.split(|byte| *byte == 0).collect();
        let found =
            fields.chunks_exact(2).find(|fields| mark.is_in(&String::from_utf8_lossy(fields[1])));
        Ok(found.map(|fields| String::from_utf8_lossy(fields[0]).into_owned()))
    }
}
