//! Committing.
//!
//! `jj commit` is one operation of jj's: it happened or it did not. The bookmark moves afterwards, and git is told after
//! that; whoever is killed in between finds the commit by its mark and does the rest.

use std::collections::BTreeSet;

use super::super::Result;
use super::super::answer::Committed;
use super::super::bounds::MARKED_AMONG;
use super::super::error::VersionControlError;
use super::super::mark::Mark;
use super::super::message::whole_message;
use super::super::request::{NewCommit, input};
use super::identity::in_name_of;
use super::standing::Standing;
use super::{JjRepository, UNRECORDED, refused};
use crate::jj::quoted;

/// Longest message with its trailers, in bytes: it is an argument of a program, and those are not longer.
const MESSAGE_BYTES: usize = 100 << 10;

/// Most that the names of files may take that are committed without the others, in bytes.
const PART_BYTES: usize = 512 << 10;

impl JjRepository {
    pub(super) fn commit_once(&self, commit: &NewCommit, mark: &Mark) -> Result<Committed> {
        commit.check()?;
        let message = whole_message(commit, mark);
        if message.len() > MESSAGE_BYTES {
            return Err(input(format!(
                "the message of a commit that jj makes has, with its trailers, at most {MESSAGE_BYTES} bytes"
            )));
        }
        let _alone = self.alone()?;
        if let Some(made) = self.marked(mark)? {
            return self.settled(made, true);
        }
        let standing = self.record()?;
        standing.refuse_conflicts()?;
        self.refuse_embedded(&standing)?;
        let part = self.part(commit, &standing)?;
        // The end of a merge is a commit even if it changes nothing.
        let is_wanted = commit.allow_empty || standing.parents.len() > 1;
        let is_nothing = standing.is_empty || part.as_ref().is_some_and(Vec::is_empty);
        if is_nothing && !is_wanted {
            let head = standing.head().ok_or(VersionControlError::NothingYet)?;
            return self.settled(head, false);
        }
        self.make(commit, &message, (mark, &part.unwrap_or_default()))
    }

    /// The files that are committed, if that is not all of them.
    fn part(&self, commit: &NewCommit, standing: &Standing) -> Result<Option<Vec<String>>> {
        let Some(since) = &commit.since else { return Ok(None) };
        let changed = self.store.names_between(&self.store.tree(since)?, &standing.files)?;
        let changed: BTreeSet<String> = changed.into_iter().collect();
        let before = standing.before(&self.store)?;
        let mut wanted = self.store.names_between(&before, &standing.files)?;
        let all = wanted.len();
        wanted.retain(|name| changed.contains(name));
        if wanted.len() == all {
            return Ok((all == 0).then(Vec::new));
        }
        if wanted.iter().map(String::len).sum::<usize>() > PART_BYTES {
            return Err(input(format!(
                "{} of {all} changed files are to be committed, and jj can't be told all of their names; ignore the others",
                wanted.len()
            )));
        }
        Ok(Some(wanted))
    }

    fn make(
        &self,
        commit: &NewCommit,
        message: &str,
        (mark, part): (&Mark, &[String]),
    ) -> Result<Committed> {
        let who = self.committer(commit.author.as_ref())?;
        if let Some(author) = &commit.author {
            let author = format!("{} <{}>", author.name, author.email);
            let words = ["metaedit", "--author", &author];
            self.altered("metaedit", &in_name_of(self.tool(words), &who))?;
        }
        let signing = match commit.sign {
            Some(true) => Some("signing.behavior=\"force\""),
            Some(false) => Some("signing.behavior=\"drop\""),
            None => None,
        };
        let words = signing.iter().flat_map(|signing| ["--config", signing]).chain(["commit"]);
        let files = part.iter().map(|name| format!("root-file:{}", quoted(name)));
        let tool = self.tool(words).args([format!("--message={message}"), "--".to_owned()]);
        let tool = tool.args(files);
        let tool = in_name_of(tool, &who).timeout(commit.timeout());
        let answer = match self.alter("commit", &tool) {
            // It may have been done when its time was over.
            Err(error) if error.is_timeout() => {
                let made = self.marked(mark)?.ok_or(error)?;
                return self.settled(made, true);
            }
            answer => answer?,
        };
        let error = || match refused("jj commit", &answer) {
            VersionControlError::Refused { said, .. } if said.contains("sign") => {
                VersionControlError::Signing { said }
            }
            other => other,
        };
        let made = self.marked(mark)?.ok_or_else(error)?;
        self.settled(made, true)
    }

    /// The commit that carries this mark: among the latest of everything that is not abandoned, in case somebody has gone
    /// elsewhere since.
    fn marked(&self, mark: &Mark) -> Result<Option<String>> {
        let line = quoted(&mark.line());
        let revset =
            format!("ancestors(visible_heads(), {MARKED_AMONG}) & description(substring:{line})");
        let template = r#"commit_id ++ "\0" ++ description ++ "\0""#;
        let question = [UNRECORDED, "log", "--no-graph", "-T", template, "-r", &revset];
        let output = self.answer("log", &self.tool(question))?;
        let text = String::from_utf8_lossy(&output);
        let fields: Vec<&str> = text.split('\0').collect();
        let found = fields.chunks_exact(2).find(|fields| mark.is_in(fields[1]));
        Ok(found.map(|fields| fields[0].to_owned()))
    }

    /// Sees to it that the branch is there and that git knows it, whoever has made the commit.
    fn settled(&self, commit_sha: String, created: bool) -> Result<Committed> {
        let branch = self.checked_out()?;
        if let Some(name) = &branch {
            let ahead =
                format!("(bookmarks(exact:{}) & ::{commit_sha}) ~ {commit_sha}", quoted(name));
            if !self.commits(&ahead)?.is_empty() || self.bookmark(name)?.is_empty() {
                let words = ["bookmark", "set", "-r", &commit_sha, "--", &quoted(name)];
                self.note("bookmark set", &words)?;
            }
            self.export()?;
        }
        Ok(Committed { commit_sha, branch, created })
    }
}
