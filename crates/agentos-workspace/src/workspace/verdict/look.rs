//! Looking at a workspace: files, commits, what is inside of it, who is in it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{Finding, Kept, Verdict, Weight, What, commits, nested, private, users};
use crate::files::FileError;
use crate::mounts;
use crate::workspace::backup::known::Known;
use crate::workspace::backup::{self, BackupError, Keeping, names};
use crate::workspace::isolation::{self, IsolationError};
use crate::workspace::porcelain::{CallError, line};
use crate::workspace::repository::RepositoryLock;
use crate::workspace::survey::{self, Survey, SurveyError};
use crate::workspace::verify::{self, VerifyError};
use crate::workspace::view::{View, ViewError};
use crate::workspace::yard::{OpenError, Yard};
use crate::workspace::{Kind, State, Workspace};

/// Why it is not known what would be lost. Then nothing is removed.
#[derive(Debug, Error)]
pub enum LookError {
    /// It is not what it should be.
    #[error(transparent)]
    NotIt(#[from] VerifyError),
    /// What was left half done before can't be repaired.
    #[error(transparent)]
    Repair(#[from] Box<OpenError>),
    /// git can't be asked about it.
    #[error(transparent)]
    View(#[from] ViewError),
    /// It is not known what is in it.
    #[error(transparent)]
    Survey(#[from] SurveyError),
    /// A tool did not do what it should.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It is not known what is on its branch.
    #[error(transparent)]
    Isolation(#[from] IsolationError),
    /// It is not known which commits only it knows.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// A file of ours can't be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Longest file that is compared with that of the main checkout, in bytes.
const COMPARED_BYTES: u64 = 64 << 20;

/// What git leaves in a private folder while something is not done.
const HALF_DONE: [(&str, &str); 7] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase or patch series"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
    ("sequencer", "a series of picks"),
];

impl Yard<'_> {
    /// Finds out what would be lost with a workspace. jj records edits meanwhile, and a clone's branch is fetched.
    ///
    /// # Errors
    /// [`LookError`]
    pub fn look(&self, workspace: &Workspace, keeping: &Keeping) -> Result<Verdict, LookError> {
        let lock = self.repository.lock()?;
        let found = verify::verify(self.surroundings, workspace)?;
        let site = self.site(Some(&lock));
        let view = View::of(&site, workspace, found)?;
        Ok(self.look_at(&lock, &view, keeping)?.0)
    }

    pub(in crate::workspace) fn look_at(
        &self,
        lock: &RepositoryLock,
        view: &View<'_>,
        keeping: &Keeping,
    ) -> Result<(Verdict, Survey), LookError> {
        let (workspace, site) = (view.workspace, self.site(Some(lock)));
        let isolation = isolation::of(workspace.kind);
        if workspace.kind == Kind::Clone {
            isolation.collect(&site, workspace)?;
        }
        let survey = Survey::load(view.plumbing, view.stand(), workspace, &keeping.reproducible)?;
        let branch = workspace.branch.as_deref();
        let tip = branch.map(|branch| isolation.tip(&site, branch)).transpose()?.flatten();
        let mut findings = files(view, &survey, &self.repository.main_root)?;
        findings.extend(nested::look(view, &survey)?);
        findings.extend(commits::unpushed(view, tip.as_deref())?);
        findings.extend(commits::detached(view)?);
        findings.extend(commits::anonymous(view)?);
        findings.extend(commits::rewritten(view)?);
        findings.extend(names(view)?);
        findings.extend(private::look(view, &self.repository.main_root)?);
        findings.extend(stashed(view)?);
        findings.extend(half_done(&view.known())?);
        findings.extend(locked(view));
        findings.extend(in_use(workspace));
        findings.extend(estranged(view));
        // As long as a clone has nothing new, the repository does not have its branch.
        let new = (workspace.kind == Kind::Clone).then(|| workspace.base.clone());
        let integrated = match tip.or(new) {
            Some(tip) => commits::integrated(view, &tip)?,
            None => None,
        };
        commits::save_what_goes_with_the_branch(&mut findings, integrated.as_ref());
        let verdict = Verdict {
            workspace_id: workspace.id.clone(),
            path: workspace.path.clone(),
            kind: workspace.kind,
            branch: workspace.branch.clone(),
            integrated,
            findings,
        };
        Ok((verdict, survey))
    }
}

fn files(view: &View<'_>, survey: &Survey, main: &Path) -> Result<Vec<Finding>, LookError> {
    let sizes: HashMap<&Path, u64> =
        survey.entries.iter().map(|entry| (entry.path.as_path(), entry.bytes)).collect();
    let is_jj = view.workspace.kind == Kind::Jj;
    let of = |what, weight, kept, paths: &[PathBuf]| {
        let mut finding = Finding::new(what, weight, kept);
        let paths = paths.iter().filter(|path| !path.starts_with(".jj") || !is_jj);
        for path in paths.filter(|path| !is_repository(path, survey)) {
            let bytes = sizes.get(path.as_path()).copied().unwrap_or(0);
            finding.add(|| path.display().to_string(), Some(bytes));
        }
        finding
    };
    let status = &survey.status;
    let mut findings = match view.workspace.kind {
        Kind::Jj if view.estranged.is_none() => vec![recorded(view)?],
        _ => vec![
            of(What::Staged, Weight::Blocks, Kept::Backup, &status.staged),
            of(What::Unstaged, Weight::Blocks, Kept::Backup, &status.unstaged),
        ],
    };
    findings.push(of(What::Untracked, Weight::Blocks, Kept::Backup, &status.untracked));
    findings.extend(ignored(view, survey, main));
    let mut left = Finding::new(What::Reproducible, Weight::Free, Kept::Nowhere);
    for part in &survey.left {
        left.add(|| part.path.display().to_string(), Some(part.bytes));
    }
    findings.push(left);
    Ok(findings.into_iter().filter(|finding| finding.count > 0).collect())
}

/// What is ignored and can't be made again: by itself, and what the main checkout has too (`.worktreeinclude` copies it).
fn ignored(view: &View<'_>, survey: &Survey, main: &Path) -> [Finding; 2] {
    let mut own = Finding::new(What::Ignored, Weight::Blocks, Kept::Archive);
    let mut copied = Finding::new(What::Copied, Weight::Free, Kept::InPlace);
    let entries = survey.entries.iter().filter(|entry| entry.is_ignored && !survey::is_ours(entry));
    for entry in entries.filter(|entry| entry.form != survey::Form::Folder) {
        let is_copy = is_same(&view.workspace.path.join(&entry.path), &main.join(&entry.path));
        let finding = if is_copy { &mut copied } else { &mut own };
        finding.add(|| entry.path.display().to_string(), Some(entry.bytes));
    }
    [own, copied]
}

/// Whether two files have the same content. What can't be read, or is large, is another one.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let about = |path: &Path| fs::symlink_metadata(path).ok();
    match (about(one), about(other)) {
        (Some(one), Some(other)) if one.len() != other.len() => false,
        (Some(found), Some(known)) if found.is_file() && known.is_file() => {
            let is_small = found.len() <= COMPARED_BYTES;
            is_small
                && fs::read(one).is_ok_and(|one| fs::read(other).is_ok_and(|other| one == other))
        }
        (Some(found), Some(known)) if found.is_symlink() && known.is_symlink() => {
            fs::read_link(one).ok() == fs::read_link(other).ok()
        }
        _ => false,
    }
}

/// git names a repository that it does not know by its folder; a submodule is looked at for itself.
fn is_repository(path: &Path, survey: &Survey) -> bool {
    survey.nested.iter().any(|nested| nested.path == path)
}

/// What jj has recorded in the working copy.
fn recorded(view: &View<'_>) -> Result<Finding, CallError> {
    let how = ["--ignore-working-copy", "diff", "--summary", "-r", "@"];
    let said = view.plumbing.0.jj(&view.workspace.path, how)?;
    let mut finding = Finding::new(What::Unstaged, Weight::Blocks, Kept::Backup);
    for changed in line(&said).lines() {
        finding.add(|| changed.get(2..).unwrap_or_default().to_owned(), None);
    }
    Ok(finding)
}

/// What was put aside. All worktrees share one stash, which stays; a clone's goes with it.
fn stashed(view: &View<'_>) -> Result<Option<Finding>, CallError> {
    let (weight, kept) = match view.workspace.kind {
        Kind::Clone => (Weight::Blocks, Kept::Backup),
        _ => (Weight::Free, Kept::InPlace),
    };
    let mut finding = Finding::new(What::Stashed, weight, kept);
    for stashed in backup::stashed(&view.known())? {
        finding.add(|| stashed.message, None);
    }
    Ok((finding.count > 0).then_some(finding))
}

fn half_done(known: &Known<'_>) -> Result<Option<Finding>, CallError> {
    let mut finding = Finding::new(What::InProgress, Weight::Blocks, Kept::Archive);
    for (name, words) in HALF_DONE {
        let is_there = known.private.join(name).exists();
        if is_there || (name.ends_with("_HEAD") && known.has_root_ref(name)?) {
            finding.add(|| words.to_owned(), None);
        }
    }
    Ok((finding.count > 0).then_some(finding))
}

/// Whether something is not finished there.
pub(in crate::workspace) fn is_half_done(known: &Known<'_>) -> Result<bool, CallError> {
    Ok(half_done(known)?.is_some())
}

/// What a clone has a name for and the repository has not.
fn names(view: &View<'_>) -> Result<Option<Finding>, CallError> {
    if view.workspace.kind != Kind::Clone {
        return Ok(None);
    }
    let mut finding = Finding::new(What::Names, Weight::Blocks, Kept::Backup);
    for named in names::lost(view)? {
        let short = named.name.strip_prefix("refs/").unwrap_or(&named.name);
        finding.add(|| short.to_owned(), None);
    }
    Ok((finding.count > 0).then_some(finding))
}

/// That jj does not look at it any more.
fn estranged(view: &View<'_>) -> Option<Finding> {
    let why = view.estranged?;
    let mut finding = Finding::new(What::Estranged, Weight::Blocks, Kept::Backup);
    finding.add(|| why.to_owned(), None);
    Some(finding)
}

/// Somebody else's lock; ours says so.
fn locked(view: &View<'_>) -> Option<Finding> {
    let reason = fs::read_to_string(view.found.private.join("locked")).ok()?;
    let is_ours = reason.starts_with(&format!("agentos workspace {} ", view.workspace.id));
    let mut finding = Finding::new(What::Locked, Weight::Forbids, Kept::InPlace);
    finding.add(|| reason.trim().to_owned(), None);
    (view.workspace.kind == Kind::Worktree && !is_ours).then_some(finding)
}

fn in_use(workspace: &Workspace) -> Vec<Finding> {
    let mut process = Finding::new(What::InUse, Weight::Forbids, Kept::InPlace);
    for user in users::inside(&workspace.path) {
        process.add(|| format!("process {} ({})", user.pid, user.name), None);
    }
    let mut run = Finding::new(What::InUse, Weight::Blocks, Kept::InPlace);
    if workspace.state == State::InUse {
        run.add(|| "somebody works in it".to_owned(), None);
    }
    let mut mounted = Finding::new(What::Mounted, Weight::Forbids, Kept::InPlace);
    for mount in mounts::below(&workspace.path) {
        mounted.add(|| mount.display().to_string(), None);
    }
    [process, run, mounted].into_iter().filter(|finding| finding.count > 0).collect()
}
