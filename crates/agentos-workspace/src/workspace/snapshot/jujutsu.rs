//! What jj knows of a workspace: what its working copy stands on, and what it is called.
//!
//! jj's own way back, `jj op restore`, takes the whole repository with it, also other people's workspaces. So only this
//! working copy goes back: it is put on what it stood on, and gets the files that it had.

use super::SnapshotError;
use super::darkroom::Darkroom;
use super::notes::Standing;
use crate::workspace::porcelain::line;

/// Everything about a working copy, line by line; the description last, because it may have many.
const ABOUT: &str = r#"commit_id ++ "\n" ++ change_id ++ "\n" ++ parents.map(|c| c.commit_id()).join(" ") ++ "\n" ++ empty ++ "\n" ++ description"#;

/// A working copy.
struct Copy {
    commit: String,
    change: String,
    parents: Vec<String>,
    is_empty: bool,
    description: String,
}

/// How a workspace stands. jj records what was edited, as it does whenever it is called.
pub(super) fn standing(room: &Darkroom<'_>) -> Result<Standing, SnapshotError> {
    jj(room, &["status"])?;
    let copy = working_copy(room)?;
    let how = ["--ignore-working-copy", "op", "log", "-n1", "--no-graph", "-T", "id"];
    let operation = jj(room, &how)?;
    let bookmark = bookmark(room)?;
    let Copy { commit, change, parents, description, .. } = copy;
    Ok(Standing::Jj { parents, commit, change, description, bookmark, operation })
}

/// Puts the working copy on what it stood on. Its files are put back afterwards.
pub(super) fn stand_on(
    room: &Darkroom<'_>,
    (parents, change): (&[String], &str),
) -> Result<(), SnapshotError> {
    jj(room, &["status"])?;
    let now = working_copy(room)?;
    let is_fresh = now.is_empty && now.description.is_empty();
    if now.parents == parents && (is_fresh || now.change == change) {
        return Ok(());
    }
    let words: Vec<&str> = ["new"].into_iter().chain(parents.iter().map(String::as_str)).collect();
    jj(room, &words)?;
    Ok(())
}

/// Lets jj see the files that were put back, and says what they were called.
pub(super) fn record(room: &Darkroom<'_>, description: &str) -> Result<(), SnapshotError> {
    jj(room, &["status"])?;
    if working_copy(room)?.description != description {
        jj(room, &["describe", "-m", description])?;
    }
    Ok(())
}

/// Puts the workspace's bookmark where it was.
pub(super) fn put_bookmark(room: &Darkroom<'_>, wanted: Option<&str>) -> Result<(), SnapshotError> {
    let (Some(wanted), Some(branch)) = (wanted, room.workspace.branch.as_deref()) else {
        return Ok(());
    };
    if bookmark(room)?.as_deref() == Some(wanted) {
        return Ok(());
    }
    let how = ["--ignore-working-copy", "bookmark", "set", "--allow-backwards", "-r", wanted, "--"];
    let words: Vec<&str> = how.into_iter().chain([branch]).collect();
    jj(room, &words)?;
    Ok(())
}

fn working_copy(room: &Darkroom<'_>) -> Result<Copy, SnapshotError> {
    let how = ["--ignore-working-copy", "log", "--no-graph", "-r", "@", "-T", ABOUT];
    let said = jj(room, &how)?;
    let mut lines = said.splitn(5, '\n');
    let mut next = || lines.next().unwrap_or_default().to_owned();
    let (commit, change, parents, is_empty) = (next(), next(), next(), next() == "true");
    let parents = parents.split(' ').map(str::to_owned).collect();
    Ok(Copy { commit, change, parents, is_empty, description: next() })
}

fn bookmark(room: &Darkroom<'_>) -> Result<Option<String>, SnapshotError> {
    let Some(branch) = &room.workspace.branch else { return Ok(None) };
    let asked = format!("bookmarks(exact:\"{branch}\")");
    let how = ["--ignore-working-copy", "log", "--no-graph", "-T", r#"commit_id ++ "\n""#, "-r"];
    let words: Vec<&str> = how.into_iter().chain([&*asked]).collect();
    let said = jj(room, &words)?;
    Ok(said.lines().next().map(str::to_owned))
}

fn jj(room: &Darkroom<'_>, words: &[&str]) -> Result<String, SnapshotError> {
    Ok(line(&room.porcelain.jj(&room.workspace.path, words.iter().copied())?))
}
