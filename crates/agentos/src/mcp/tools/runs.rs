//! Runs: which there are, and one with everything about it.

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::projection::WorkflowStatus;
use agentos_store::since::{self, Since};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Deserializer};

use super::{Deed, Scene, Tool};
use crate::commands::{show, status};
use crate::error::{CommandError, Result};
use crate::mcp::answer::Answer;

/// How many runs a listing has if nobody says, and at most.
const USUAL: u16 = 20;
const MOST: u16 = 100;

/// `list_runs`
pub(super) struct ListRuns;

/// What to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Which {
    /// Only runs of these statuses: PENDING, RUNNING, COMPLETED, FAILED, CANCELLED, TIMED_OUT.
    #[serde(deserialize_with = "one_or_many")]
    status: Vec<String>,
    /// Only runs of this workflow, by its name.
    workflow: Option<String>,
    /// Only runs of this worktree: its id (`worktree_id`; `main` for the main checkout), name or path.
    worktree: Option<String>,
    /// Only runs that started since then: `30m`, `2h`, `3d`, a date, or a moment.
    since: Option<String>,
    /// Runs of every repository that the user has used, not only of this one.
    all_repos: bool,
    /// How many at most, from 1 to 100; 20 if left out.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u16>,
    /// Which page of them, from 1.
    #[schemars(range(min = 1))]
    page: Option<u32>,
    /// Those behind this place: the `next` of another page. Instead of `page`; new runs do not shift it.
    after: Option<String>,
}

impl Tool for ListRuns {
    const NAME: &'static str = "list_runs";
    const TITLE: &'static str = "List runs";
    const DESCRIPTION: &'static str = "Lists workflow runs of this repository, of all its worktrees, the latest first: what runs where, what waits for \
        whom, what has failed. Each run has its id, short name (run_id), workflow, status, current step, worktree_id, \
        workspace_dir, branch and times; `waiting` says what a running one waits for, `interrupted` that its process is dead and \
        `agentos resume` can go on. The same document as `agentos status --json`.";
    const DEED: Deed = Deed::Reads;
    type Arguments = Which;

    async fn call(scene: &Scene, which: Which) -> Result<Answer> {
        let status = which.status.iter().map(|text| status_of(text));
        let (limit, page) = (which.limit.unwrap_or(USUAL), which.page.unwrap_or(1));
        if !(1..=MOST).contains(&limit) || page == 0 {
            let what = format!("`limit` has to be from 1 to {MOST}, and `page` at least 1");
            return Err(CommandError::usage(what));
        }
        let args = status::Args {
            all: true,
            status: status.collect::<Result<_>>()?,
            workflow: which.workflow,
            worktree: which.worktree,
            since: which.since.as_deref().map(since_of).transpose()?,
            all_repos: which.all_repos,
            watch: false,
            limit,
            page,
            after: which.after,
            json: true,
        };
        let listing = status::look(&scene.session, &args, SystemClock.now()).await?;
        Answer::document(&status::document(&args, &listing)?)
    }
}

/// Models say one where there may be several, and mean it.
fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a status, or a list of them")]
    enum Said {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Said::deserialize(from)? {
        Said::One(status) => vec![status],
        Said::Many(all) => all,
    })
}

fn status_of(text: &str) -> Result<WorkflowStatus> {
    status::parse_status(text)
        .map_err(|known| CommandError::usage(format!("there is no status `{text}`: {known}")))
}

fn since_of(text: &str) -> Result<Since> {
    since::parse(text)
        .map_err(|known| CommandError::usage(format!("`since` is no moment: `{text}`; {known}")))
}

/// `show_run`
pub(super) struct ShowRun;

/// Which run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    /// The run: its id, its short name, or any unambiguous beginning of one.
    run: String,
}

impl Tool for ShowRun {
    const NAME: &'static str = "show_run";
    const TITLE: &'static str = "Show a run";
    const DESCRIPTION: &'static str = "Shows one run with everything about it: input, output, error, steps with their attempts, \
        comments, artifacts, agent sessions with tokens and cost, and the operations under way (commands with their process, \
        questions that wait for an answer). The same document as `agentos show --json`.";
    const DEED: Deed = Deed::Reads;
    type Arguments = Run;

    async fn call(scene: &Scene, which: Run) -> Result<Answer> {
        let session = scene.at(&which.run).await?;
        Answer::document(&show::document(&session, &which.run).await?)
    }
}
