//! The refs of a clone. Its branch is fetched into the repository; its tags, notes and whatever else has a name there are
//! not, and an annotated tag is an object that no commit leads to. So a backup has a ref of its own for each that the
//! repository has not, `refs/agentos/names/{workspace}/{number}/…`.

use std::collections::HashMap;
use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use crate::workspace::Workspace;
use crate::workspace::id::WorkspaceId;
use crate::workspace::plumbing::{Plumbing, Stand};
use crate::workspace::porcelain::{CallError, line};
use crate::workspace::view::View;

/// What every such ref begins with.
const REFS: &str = "refs/agentos/names/";

/// Where a clone notes what remotes have.
const REMOTES: &str = "refs/remotes/";

/// What is looked at for itself: what is put aside, what is half done.
const SEEN_ELSEWHERE: [&str; 4] = [REMOTES, "refs/stash", "refs/bisect/", "refs/rewritten/"];

/// How git fetches objects and nothing else.
pub(in crate::workspace) const FETCH: [&str; 7] = [
    "-c",
    "protocol.version=2",
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
];

/// A ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::workspace) struct Named {
    pub(in crate::workspace) name: String,
    /// The object that it is at.
    pub(in crate::workspace) at: String,
}

/// The refs there, without those that only say the name of another one.
pub(in crate::workspace) fn load(
    plumbing: Plumbing<'_>,
    stand: Stand<'_>,
) -> Result<Vec<Named>, CallError> {
    let how = ["for-each-ref", "--format=%(objectname) %(refname) %(symref)"];
    let said = line(&plumbing.call(stand, how)?);
    let named = said.lines().filter_map(|line| {
        let mut words = line.trim_end().split(' ');
        let (at, name, other) = (words.next()?, words.next()?, words.next());
        other.is_none().then(|| Named { name: name.to_owned(), at: at.to_owned() })
    });
    Ok(named.collect())
}

/// Those of a clone that the repository has not, or has elsewhere. What remotes have is theirs.
fn different(view: &View<'_>) -> Result<Vec<Named>, CallError> {
    let outside: HashMap<String, String> =
        load(view.plumbing, Stand::repository(&view.workspace.repository))?
            .into_iter()
            .map(|named| (named.name, named.at))
            .collect();
    let mut inside = load(view.plumbing, view.history())?;
    inside.retain(|named| {
        !named.name.starts_with(REMOTES) && outside.get(&named.name) != Some(&named.at)
    });
    Ok(inside)
}

/// Those of a clone that would be lost with it. A branch that the repository has too is not lost by being behind.
pub(in crate::workspace) fn lost(view: &View<'_>) -> Result<Vec<Named>, CallError> {
    let own = view.workspace.branch.as_ref().map(|own| format!("refs/heads/{own}"));
    let stand = Stand::repository(&view.workspace.repository);
    let mut lost = Vec::new();
    for named in different(view)? {
        let is_seen = SEEN_ELSEWHERE.iter().any(|beginning| named.name.starts_with(beginning));
        if is_seen || own.as_ref() == Some(&named.name) {
            continue;
        }
        let is_branch = named.name.starts_with("refs/heads/");
        let asked = ["merge-base", "--is-ancestor", &named.at, &named.name];
        if !(is_branch && view.plumbing.ask(stand, asked)?.is_some()) {
            lost.push(named);
        }
    }
    Ok(lost)
}

/// Gives a backup its own refs in the repository; all of the clone's, by name.
pub(super) fn keep(view: &View<'_>, number: u32) -> Result<Vec<Named>, CallError> {
    let stand = Stand::repository(&view.workspace.repository);
    let prefix = prefix(&view.workspace.id, number);
    clear(view.plumbing, stand, &prefix)?;
    let from = view.workspace.path.to_string_lossy();
    let how: Vec<&str> = FETCH.into_iter().chain(["--", &from]).collect();
    let wanted = different(view)?.into_iter().map(|named| {
        let rest = named.name.strip_prefix("refs/").unwrap_or(&named.name).to_owned();
        [OsString::from(format!("+{}:{prefix}{rest}", named.name))]
    });
    view.plumbing.call_with_many(stand, &how, wanted)?;
    load(view.plumbing, view.history())
}

/// What the refs of a backup begin with.
pub(super) fn prefix(id: &WorkspaceId, number: u32) -> String {
    format!("{REFS}{id}/{number}/")
}

/// Deletes everything below a prefix.
pub(super) fn clear(
    plumbing: Plumbing<'_>,
    stand: Stand<'_>,
    prefix: &str,
) -> Result<(), CallError> {
    let said = line(&plumbing.call(stand, ["for-each-ref", "--format=%(refname)", prefix])?);
    for name in said.lines() {
        plumbing.call(stand, ["update-ref", "-d", name])?;
    }
    Ok(())
}

/// Brings the objects of a backup's own refs into a clone.
pub(in crate::workspace) fn fetch(
    plumbing: Plumbing<'_>,
    workspace: &Workspace,
    number: u32,
) -> Result<(), CallError> {
    let under = prefix(&workspace.id, number);
    let how = ["for-each-ref", "--format=%(objectname)", &under];
    let said = line(&plumbing.call(Stand::repository(&workspace.repository), how)?);
    let from = workspace.repository.to_string_lossy();
    let how: Vec<&str> = FETCH.into_iter().chain(["--", &from]).collect();
    let ids = said.lines().map(|id| [OsString::from(id)]);
    plumbing.call_with_many(Stand::checkout(&workspace.path), &how, ids)?;
    Ok(())
}

/// Makes the refs of a clone those that it had. What the repository has deleted since is not made again.
pub(in crate::workspace) fn restore(
    plumbing: Plumbing<'_>,
    stand: Stand<'_>,
    wanted: &[Named],
) -> Result<(), CallError> {
    let found = load(plumbing, stand)?;
    for named in found.iter().filter(|named| !wanted.iter().any(|one| one.name == named.name)) {
        plumbing.call(stand, ["update-ref", "-d", &named.name])?;
    }
    for named in wanted {
        let is_there = plumbing.ask(stand, ["cat-file", "-e", &named.at])?.is_some();
        match (found.contains(named), is_there) {
            (true, false) => drop(plumbing.call(stand, ["update-ref", "-d", &named.name])?),
            (false, true) => {
                drop(plumbing.call(stand, ["update-ref", "--no-deref", &named.name, &named.at])?);
            }
            _ => {}
        }
    }
    Ok(())
}
