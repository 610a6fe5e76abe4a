//! Where git is asked about the files of a workspace. In a jj workspace there may be no git, so it is lent the repository's
//! git directory and an index of what jj has recorded.

use std::path::PathBuf;

use super::backup::known::Known;
use super::isolation::{Site, estrangement};
use super::plumbing::{Plumbing, Stand};
use super::porcelain::{CallError, line};
use super::{Kind, Workspace};
use crate::checkout::Checkout;
use crate::files::{self, FileError};
use crate::identity::folder_of;
use thiserror::Error;

/// Why git can't be asked about a workspace.
#[derive(Debug, Error)]
pub enum ViewError {
    /// A tool did not do what it should.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A file of ours can't be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A workspace, and how to ask about it.
#[derive(Debug, Clone)]
pub(super) struct View<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) found: Checkout,
    pub(super) plumbing: Plumbing<'a>,
    /// In a jj workspace: the commit that has everything that jj has recorded.
    pub(super) recorded: Option<String>,
    /// Why jj does not look at it any more: then there are only its files, and the commit that it was made from.
    pub(super) estranged: Option<&'static str>,
    index: Option<PathBuf>,
}

impl<'a> View<'a> {
    /// Looks at a workspace. jj records what was edited, as it does whenever it is called.
    pub(super) fn of(
        site: &Site<'a>,
        workspace: &'a Workspace,
        found: Checkout,
    ) -> Result<Self, ViewError> {
        let plumbing = Plumbing(site.porcelain());
        let mut view =
            Self { workspace, found, plumbing, recorded: None, estranged: None, index: None };
        if workspace.kind == Kind::Jj {
            let how = ["--ignore-working-copy", "log", "--no-graph", "-T", "commit_id", "-r", "@"];
            let looked = plumbing.0.jj(&workspace.path, ["status"]);
            let recorded = match looked.and_then(|_| plumbing.0.jj(&workspace.path, how)) {
                Ok(recorded) => line(&recorded),
                Err(error) => {
                    view.estranged = Some(estrangement(&error).ok_or(error)?);
                    workspace.base.clone()
                }
            };
            let folder = folder_of(&view.found.private);
            files::make_folder(&folder)?;
            let index = folder.join("index");
            let stand = Stand::repository(&workspace.repository).with_index(&index);
            plumbing.call(stand, ["read-tree", &recorded])?;
            view.recorded = view.estranged.is_none().then_some(recorded);
            view.index = Some(index);
        }
        Ok(view)
    }

    /// Where git is asked about its files.
    pub(super) fn stand(&self) -> Stand<'_> {
        let path = &self.workspace.path;
        match &self.index {
            None => Stand::checkout(path),
            Some(index) => Stand {
                folder: path,
                git_dir: Some(&self.workspace.repository),
                work_tree: Some(path),
                index: Some(index),
                has_rules: true,
            },
        }
    }

    /// What it knows that nobody else does.
    pub(super) fn known(&self) -> Known<'_> {
        let (plumbing, history, private) = (self.plumbing, self.history(), &self.found.private);
        Known { plumbing, history, private, workspace: self.workspace }
    }

    /// Where git is asked about its commits.
    pub(super) fn history(&self) -> Stand<'_> {
        match self.workspace.kind {
            Kind::Jj => Stand::repository(&self.workspace.repository),
            _ => Stand::checkout(&self.workspace.path),
        }
    }
}
