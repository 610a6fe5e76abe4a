//! What would become of the commits of a workspace.

use serde::Serialize;

use super::{Finding, Kept, Weight, What};
use crate::workspace::Kind;
use crate::workspace::backup::BackupError;
use crate::workspace::backup::known::Known;
use crate::workspace::plumbing::Stand;
use crate::workspace::porcelain::{CallError, line};
use crate::workspace::view::View;

/// How a branch is in another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Its commits are.
    Merged,
    /// The files are the same.
    SameFiles,
    /// One commit there makes the same change as all of it.
    Squashed,
    /// Merging it would change nothing.
    NothingToMerge,
}

impl How {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::SameFiles => "the same files",
            Self::Squashed => "squashed into one commit",
            Self::NothingToMerge => "merging it would change nothing",
        }
    }
}

/// That what is on a branch is in the project already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Integrated {
    /// How.
    pub how: How,
    /// The branch that it is in.
    pub into: String,
}

/// Where a project's branches come together.
const TARGETS: [&str; 4] =
    ["HEAD", "refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"];

/// Whether a commit is in one of the branches where the project comes together.
pub(super) fn integrated(view: &View<'_>, tip: &str) -> Result<Option<Integrated>, CallError> {
    let (plumbing, stand) = (view.plumbing, Stand::repository(&view.workspace.repository));
    let own = view.workspace.branch.as_deref();
    for target in TARGETS {
        let name = plumbing.ask(stand, ["rev-parse", "--abbrev-ref", target, "--"])?;
        let name = name.as_deref().map(line).unwrap_or_default();
        let name = name.lines().next().unwrap_or_default().to_owned();
        if own == Some(&*name) {
            continue;
        }
        let asked = format!("{target}^{{commit}}");
        let asked = ["rev-parse", "--verify", "--quiet", &asked];
        let Some(target) = plumbing.ask(stand, asked)?.map(|id| line(&id)) else { continue };
        if let Some(how) = how(view, tip, &target)? {
            return Ok(Some(Integrated { how, into: name }));
        }
    }
    Ok(None)
}

fn how(view: &View<'_>, tip: &str, target: &str) -> Result<Option<How>, CallError> {
    let (plumbing, stand) = (view.plumbing, Stand::repository(&view.workspace.repository));
    let tree = |commit: &str| {
        let asked = format!("{commit}^{{tree}}");
        plumbing.ask(stand, ["rev-parse", "--verify", "--quiet", &asked])
    };
    if plumbing.ask(stand, ["merge-base", "--is-ancestor", tip, target])?.is_some() {
        return Ok(Some(How::Merged));
    }
    let (Some(ours), Some(theirs)) = (tree(tip)?, tree(target)?) else { return Ok(None) };
    if ours == theirs {
        return Ok(Some(How::SameFiles));
    }
    let Some(fork) = plumbing.ask(stand, ["merge-base", tip, target])? else { return Ok(None) };
    // All of the branch as one commit: git knows whether there is one that does the same.
    let (ours, fork) = (line(&ours), line(&fork));
    let whole = plumbing.word(stand, ["commit-tree", &ours, "-p", &fork, "-m", "squashed"])?;
    let said = plumbing.word(stand, ["cherry", target, &whole])?;
    if said.starts_with("- ") {
        return Ok(Some(How::Squashed));
    }
    let merged = plumbing.ask(stand, ["merge-tree", "--write-tree", target, tip])?;
    let is_same = merged.is_some_and(|merged| line(&merged).lines().next() == Some(&line(&theirs)));
    Ok(is_same.then_some(How::NothingToMerge))
}

/// A branch that is in the project already goes with its workspace. Where only its files are there, its commits are not: a
/// revert, a message, the steps on the way.
pub(super) fn save_what_goes_with_the_branch(
    findings: &mut [Finding],
    integrated: Option<&Integrated>,
) {
    if integrated.is_none_or(|integrated| integrated.how == How::Merged) {
        return;
    }
    for finding in findings.iter_mut().filter(|finding| finding.what == What::Unpushed) {
        finding.weight = Weight::Saved;
        finding.kept = Kept::Backup;
    }
}

/// Every name in the repository that others have for a commit: not those of one worktree, which go with it.
const NAMED_BY_OTHERS: [&str; 5] = [
    "--exclude=refs/agentos/*",
    "--exclude=refs/worktree/*",
    "--exclude=refs/bisect/*",
    "--exclude=refs/rewritten/*",
    "--glob=refs/*",
];

/// The commits that are on the workspace's branch and on no other one, nor on a remote.
pub(super) fn unpushed(view: &View<'_>, tip: Option<&str>) -> Result<Option<Finding>, CallError> {
    let workspace = view.workspace;
    let (Some(branch), Some(tip)) = (&workspace.branch, tip) else { return Ok(None) };
    let own = format!("--exclude={branch}");
    let asked = [tip, "--not", "--remotes", &own, "--branches"];
    let stand = Stand::repository(&workspace.repository);
    counted(view, stand, &asked, Finding::new(What::Unpushed, Weight::Free, Kept::InPlace))
}

/// The commits that are checked out and on no branch, or, in a clone, on branches that the repository does not have.
pub(super) fn detached(view: &View<'_>) -> Result<Option<Finding>, CallError> {
    let workspace = view.workspace;
    let mut asked = vec!["HEAD"];
    let own = workspace.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    match workspace.kind {
        Kind::Jj => return Ok(None),
        Kind::Worktree => {
            asked.push("--not");
            asked.extend(NAMED_BY_OTHERS);
        }
        Kind::Clone => {
            // Tags that the repository does not have are names that would be lost, and told as such.
            asked.extend(["--branches", "--not", "--remotes", &workspace.base]);
            let exists = own.as_deref().map(|own| ["rev-parse", "--verify", "--quiet", own]);
            let exists =
                exists.map(|asked| view.plumbing.ask(view.history(), asked)).transpose()?;
            if exists.flatten().is_some() {
                asked.extend(own.as_deref());
            }
        }
    }
    let finding = Finding::new(What::Detached, Weight::Blocks, Kept::Backup);
    counted(view, view.history(), &asked, finding)
}

/// The commits of a jj workspace that no bookmark leads to. They stay in the repository, where few would look for them.
pub(super) fn anonymous(view: &View<'_>) -> Result<Option<Finding>, CallError> {
    if view.workspace.kind != Kind::Jj || view.estranged.is_some() {
        return Ok(None);
    }
    let own = format!("{}..@-", view.workspace.base);
    let revset = format!("(({own}) | roots({own})::) ~ ::(bookmarks() | remote_bookmarks()) ~ @");
    let template = r#"commit_id.short() ++ " " ++ description.first_line() ++ "\n""#;
    let how = ["--ignore-working-copy", "log", "--no-graph", "-T", template, "-r", &revset];
    let said = view.plumbing.0.jj(&view.workspace.path, how)?;
    let mut finding = Finding::new(What::Anonymous, Weight::Free, Kept::InPlace);
    for commit in line(&said).lines() {
        finding.add(|| commit.to_owned(), None);
    }
    Ok((finding.count > 0).then_some(finding))
}

/// The commits that only a log knows.
pub(super) fn rewritten(view: &View<'_>) -> Result<Option<Finding>, BackupError> {
    let workspace = view.workspace;
    if workspace.kind == Kind::Jj {
        return Ok(None);
    }
    let named = view.known().commits(&[], [])?;
    let mut asked: Vec<&str> = named.iter().map(String::as_str).collect();
    asked.extend(["--not", "HEAD"]);
    asked.extend(NAMED_BY_OTHERS);
    if workspace.kind == Kind::Clone {
        asked.push(&workspace.base);
    }
    let finding = Finding::new(What::Rewritten, Weight::Saved, Kept::Backup);
    Ok(counted(view, view.history(), &asked, finding)?)
}

/// Whether some of these commits have no name in the repository.
pub(in crate::workspace) fn has_own(
    known: &Known<'_>,
    commits: &[String],
) -> Result<bool, CallError> {
    let asked = ["rev-list", "-n", "1"].into_iter().chain(commits.iter().map(String::as_str));
    let asked = asked.chain(["--not"]).chain(NAMED_BY_OTHERS);
    let said = known.plumbing.ask(Stand::repository(&known.workspace.repository), asked)?;
    Ok(!commits.is_empty() && said.is_none_or(|said| !said.is_empty()))
}

fn counted(
    view: &View<'_>,
    stand: Stand<'_>,
    asked: &[&str],
    mut finding: Finding,
) -> Result<Option<Finding>, CallError> {
    let words = ["rev-list", "--count"].into_iter().chain(asked.iter().copied());
    let Some(said) = view.plumbing.ask(stand, words)? else { return Ok(None) };
    finding.count = line(&said).parse().unwrap_or(0);
    if finding.count == 0 {
        return Ok(None);
    }
    let words = ["log", "--format=%h %s", "-n", "3"].into_iter().chain(asked.iter().copied());
    let named = view.plumbing.ask(stand, words)?.unwrap_or_default();
    finding.examples = String::from_utf8_lossy(&named).lines().map(str::to_owned).collect();
    Ok(Some(finding))
}
