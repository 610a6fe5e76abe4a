//! The files as they are at a moment, as a tree: by it, what somebody changes from then on is told from what was there
//! before. Tests leave files behind that nobody has committed or ignored; they are no part of what an agent does next.
//!
//! The tree is made with a copy of the index, so nothing is staged by it. Nothing refers to it: git forgets it after some
//! weeks. A repository among the files stands in it as a mark, since git does not look into it.

use std::fs;

use super::super::Result;
use super::super::bounds::LIST_BYTES;
use super::super::error::VersionControlError;
use super::super::request::input;
use super::revision::shown;
use super::scratch::Scratch;
use super::{GitRepository, text};

/// What has changed between two trees: names of files, which need not be text.
#[derive(Debug, Default)]
struct Changed {
    /// They are there.
    present: Vec<Vec<u8>>,
    /// They are gone.
    gone: Vec<Vec<u8>>,
}

impl GitRepository {
    /// The tree of all files that are not ignored.
    pub(super) fn tree_of_files(&self) -> Result<String> {
        let embedded = self.embedded(&[])?;
        let known = self.index_of_everything(&embedded, "--all")?;
        self.mark_embedded(&known, &embedded)?;
        let write = self.tool(["write-tree"]).timeout(self.patient());
        let write = write.set("GIT_INDEX_FILE", known.path().join("index"));
        Ok(text(&self.answer("write-tree", &write)?.output).trim().to_owned())
    }

    /// A repository among the files stands in the index with an id that says nothing: only that there is one.
    fn mark_embedded(&self, known: &Scratch, embedded: &[String]) -> Result<()> {
        let nothing = self.empty_tree()?;
        for path in embedded {
            let mark = format!("160000,{nothing},{}", path.trim_end_matches('/'));
            let words = ["update-index", "--add", "--cacheinfo", &mark];
            let tool = self.tool(words).timeout(self.patient());
            let tool = tool.set("GIT_INDEX_FILE", known.path().join("index"));
            self.answer("update-index", &tool)?;
        }
        Ok(())
    }

    /// The tree that a user names.
    pub(in crate::version_control) fn tree(&self, named: &str) -> Result<String> {
        let is_id = named.len() >= 40 && named.bytes().all(|byte| byte.is_ascii_hexdigit());
        let unknown = || input(format!("there is no tree `{}` here", shown(named)));
        if !is_id {
            return Err(unknown());
        }
        let wanted = format!("{named}^{{tree}}");
        let question = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        let answer = self.ask("rev-parse", &self.question(question))?;
        if !answer.is_success() {
            return Err(unknown());
        }
        Ok(text(&answer.output).trim().to_owned())
    }

    /// Stages what has changed since the files were this tree, and nothing else.
    pub(super) fn stage_since(&self, before: &str) -> Result<()> {
        let before = self.tree(before)?;
        let changed = self.changed_between(&before, &self.tree_of_files()?)?;
        let embedded = self.embedded(&[])?;
        let is_new = |path: &&String| {
            changed.present.iter().any(|other| text(other) == path.trim_end_matches('/'))
        };
        let new: Vec<&String> = embedded.iter().filter(is_new).collect();
        if let Some(first) = new.first() {
            let (count, first) = (new.len(), (*first).clone());
            return Err(VersionControlError::Embedded { count, first });
        }
        let add: Vec<&str> = self.add_words().into_iter().chain(["--all"]).collect();
        self.with_paths("add", &add, &changed.present)?;
        // What is gone may never have been known to the index.
        let remove = ["rm", "--cached", "--force", "--quiet", "--ignore-unmatch"];
        self.with_paths("rm", &remove, &changed.gone)
    }

    /// Calls git with these paths, however many there are.
    fn with_paths(&self, verb: &str, words: &[&str], paths: &[Vec<u8>]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let folder = self.scratch()?;
        let which = folder.path().join("paths");
        let list = paths.iter().map(|path| [b":(top,literal)", path.as_slice(), b"\0"].concat());
        let list: Vec<u8> = list.flatten().collect();
        fs::write(&which, list)
            .map_err(|source| VersionControlError::File { what: "a list of paths", source })?;
        let words = words.iter().chain(&["--pathspec-file-nul", "--pathspec-from-file"]).copied();
        let tool = self.tool(words).args([which.as_os_str()]).timeout(self.patient());
        self.changed(verb, &tool)
    }

    fn changed_between(&self, from: &str, to: &str) -> Result<Changed> {
        let question = ["diff-tree", "-r", "--name-status", "--no-renames", "-z", from, to];
        let answer = self.answer("diff-tree", &self.question(question).output_bytes(LIST_BYTES))?;
        let fields: Vec<&[u8]> = answer.output.split(|byte| *byte == 0).collect();
        let mut changed = Changed::default();
        for pair in fields.chunks_exact(2) {
            match pair[0] {
                b"D" => changed.gone.push(pair[1].to_vec()),
                _ => changed.present.push(pair[1].to_vec()),
            }
        }
        Ok(changed)
    }
}
