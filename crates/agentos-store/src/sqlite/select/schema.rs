//! The tables that people ask in SQL, and how each follows from the tables of one database.
//!
//! Inside, rows refer to each other by integer keys and large values stand apart; outside, everything is as in the
//! documents of the command line: ids, JSON as text, moments as RFC 3339 in UTC.

use std::fmt::Write as _;

use crate::sqlite::older;

/// Stands for the database in the text of a column or a table.
const HERE: &str = "{db}";

/// How a column follows.
#[derive(Debug, Clone, Copy)]
enum From {
    /// As it is.
    Same,
    /// JSON, which may stand apart.
    Json,
    /// A moment.
    Moment,
    /// So.
    Text(&'static str),
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub(in crate::sqlite) struct Column {
    pub(in crate::sqlite) name: &'static str,
    /// What it says, for people.
    pub(in crate::sqlite) about: &'static str,
    from: From,
}

/// A table.
#[derive(Debug, Clone, Copy)]
pub(in crate::sqlite) struct Table {
    pub(in crate::sqlite) name: &'static str,
    pub(in crate::sqlite) about: &'static str,
    pub(in crate::sqlite) columns: &'static [Column],
    /// The rows it is made from; the first table's letter is its columns'.
    rows: &'static str,
    letter: &'static str,
    /// Whether `r` is the run that a row belongs to.
    is_of_runs: bool,
}

const fn same(name: &'static str, about: &'static str) -> Column {
    Column { name, about, from: From::Same }
}

const fn json(name: &'static str, about: &'static str) -> Column {
    Column { name, about, from: From::Json }
}

const fn moment(name: &'static str, about: &'static str) -> Column {
    Column { name, about, from: From::Moment }
}

const fn text(name: &'static str, about: &'static str, sql: &'static str) -> Column {
    Column { name, about, from: From::Text(sql) }
}

/// What the worktree of the run `r` is called.
const WORKTREE: Column = text(
    "worktree",
    "what the run's worktree is called",
    "coalesce((SELECT w.name FROM main.known_worktrees w WHERE w.id = r.worktree_id \
     ORDER BY w.project_id IS (SELECT p.id FROM {db}.projects p WHERE p.key = r.project_id) DESC LIMIT 1), \
     r.worktree_id)",
);

const DATABASE: Column = text("database", "the file that the row is in", "{database}");

const EXECUTION: Column = text("execution_id", "the run's id", "r.id");
const RUN: Column = text("run_id", "the run's short name", "r.run_id");
const STEP: Column = text(
    "step_id",
    "the step's id",
    "(SELECT x.id FROM {db}.workflow_steps x WHERE x.key = t.step_id)",
);

const RUNS: Table = Table {
    name: "workflow_runs",
    about: "runs",
    rows: "{db}.workflow_runs r",
    letter: "r",
    is_of_runs: true,
    columns: &[
        same("id", "its id"),
        same("run_id", "its short name"),
        same("workflow", "the workflow's name"),
        same("status", "PENDING, RUNNING, COMPLETED, FAILED, CANCELLED or TIMED_OUT"),
        same("waiting", "JSON: what it waits for, while it only waits"),
        text(
            "current_step",
            "the step that it is at, or was at last",
            "(SELECT x.name FROM {db}.workflow_steps x WHERE x.key = r.current_workflow_step_id)",
        ),
        text(
            "current_workflow_step_id",
            "the id of that step",
            "(SELECT x.id FROM {db}.workflow_steps x WHERE x.key = r.current_workflow_step_id)",
        ),
        moment("started_at", "when it began"),
        moment("completed_at", "when it ended"),
        same("duration", "how long that took, in milliseconds"),
        same("branch_name", "the branch that it works on"),
        same("commit_sha", "its latest commit"),
        same("pr_url", "its pull request"),
        json("input", "JSON: what it was started with"),
        json("output", "JSON: what it returned"),
        json("error", "JSON: why it did not"),
        json("state", "JSON: what it wrote with `set`"),
        same("log_file_path", "its log, relative to the project"),
        same("worktree_id", "the id of its worktree: `main`, a UUID, or a workspace's"),
        WORKTREE,
        same("work_dir", "the checkout that it was started from"),
        same("workspace_dir", "where it works"),
        same("workspace_id", "the workspace's id"),
        same("context_dir", "its input files, prompts and transcripts"),
        text(
            "project_id",
            "the project's id",
            "(SELECT p.id FROM {db}.projects p WHERE p.key = r.project_id)",
        ),
        text(
            "workflow_def_id",
            "the definition's id",
            "(SELECT d.id FROM {db}.workflow_definitions d WHERE d.key = r.workflow_def_id)",
        ),
        same("definition_hash", "the hash of its modules"),
        same("definition_version", "the version of the definition"),
        same("parent_run_id", "who invoked it"),
        same("forked_from", "what it was forked from"),
        moment("created_at", "when it was created"),
        moment("updated_at", "when it last changed"),
        text("seq", "the number of entries in its log", "r.head"),
        DATABASE,
    ],
};

const STEPS: Table = Table {
    name: "workflow_steps",
    about: "steps of runs",
    rows: "{db}.workflow_steps t JOIN {db}.workflow_runs r ON r.key = t.execution_id",
    letter: "t",
    is_of_runs: true,
    columns: &[
        same("id", "its id"),
        EXECUTION,
        RUN,
        same("step_number", "counted from 1"),
        same("name", "its name; that of an operation outside of a step is what it does"),
        same("path", "where in the run it stands"),
        same("phase", "the phases around it"),
        same("status", "PENDING, RUNNING, COMPLETED, FAILED, RETRYING, SKIPPED or CANCELLED"),
        moment("started_at", "when its first attempt began"),
        moment("completed_at", "when it ended"),
        same("duration", "how long that took, in milliseconds"),
        json("input", "JSON: what it was asked for with"),
        json("output", "JSON: what it returned"),
        json("error", "JSON: why its latest attempt failed"),
        same("attempt_number", "its latest attempt"),
        same("max_attempts", "how many it may have"),
        same("superseded", "1 if the run's present source does not ask for it"),
        moment("created_at", "when it was asked for"),
        moment("updated_at", "when it last changed"),
        WORKTREE,
        DATABASE,
    ],
};

const COMMENTS: Table = Table {
    name: "workflow_comments",
    about: "remarks on runs and steps",
    rows: "{db}.workflow_comments t JOIN {db}.workflow_runs r ON r.key = t.execution_id",
    letter: "t",
    is_of_runs: true,
    columns: &[
        same("id", "its id"),
        EXECUTION,
        RUN,
        STEP,
        same("message", "the remark"),
        json("metadata", "JSON: whatever else was said"),
        same("author", "who, if it was a person"),
        moment("created_at", "when"),
        WORKTREE,
        DATABASE,
    ],
};

const ARTIFACTS: Table = Table {
    name: "workflow_artifacts",
    about: "files kept with runs",
    rows: "{db}.workflow_artifacts t JOIN {db}.workflow_runs r ON r.key = t.execution_id",
    letter: "t",
    is_of_runs: true,
    columns: &[
        same("id", "its id"),
        EXECUTION,
        RUN,
        STEP,
        text(
            "agent_session_id",
            "the session that made it",
            "(SELECT g.id FROM {db}.agent_sessions g WHERE g.key = t.agent_session_id)",
        ),
        same("name", "its name"),
        same(
            "type",
            "SCREENSHOT, LOG_FILE, SESSION_FILE, TEST_REPORT, BUILD_OUTPUT, DOCUMENT or OTHER",
        ),
        same("storage_path", "where it is, relative to the project"),
        same("storage_type", "FILESYSTEM"),
        same("mime_type", "its media type"),
        same("size_bytes", "how large it is"),
        json("metadata", "JSON: whatever else was said"),
        moment("created_at", "when it was made"),
        WORKTREE,
        DATABASE,
    ],
};

const SESSIONS: Table = Table {
    name: "agent_sessions",
    about: "sessions of coding agents",
    rows: "{db}.agent_sessions t JOIN {db}.workflow_runs r ON r.key = t.execution_id",
    letter: "t",
    is_of_runs: true,
    columns: &[
        same("id", "its id"),
        EXECUTION,
        RUN,
        text(
            "workflow_step_id",
            "the step's id",
            "(SELECT x.id FROM {db}.workflow_steps x WHERE x.key = t.workflow_step_id)",
        ),
        same("name", "its name"),
        same("agent", "the agent"),
        same("model", "the model"),
        same("session_id", "the agent's own name for the session"),
        same("status", "RUNNING, COMPLETED, FAILED or CANCELLED"),
        same("session_file_path", "its transcript"),
        same("input_tokens", "tokens read"),
        same("output_tokens", "tokens written"),
        same("cached_tokens", "tokens read from a cache"),
        same("cost_usd", "what it cost"),
        same("exit_code", "how the process ended"),
        json("error", "JSON: why it failed"),
        moment("started_at", "when it began"),
        moment("completed_at", "when it ended"),
        same("duration", "how long that took, in milliseconds"),
        same(
            "inherited",
            "1 if it is of the run that this one was made out of, and paid for there",
        ),
        same("superseded", "1 if the run's present source does not ask for it"),
        moment("created_at", "when it was ordered"),
        moment("updated_at", "when it last changed"),
        WORKTREE,
        DATABASE,
    ],
};

const DEFINITIONS: Table = Table {
    name: "workflow_definitions",
    about: "workflows that runs were made from",
    rows: "{db}.workflow_definitions t JOIN {db}.projects p ON p.key = t.project_id",
    letter: "t",
    is_of_runs: false,
    columns: &[
        same("id", "its id"),
        text("project_id", "the project's id", "p.id"),
        same("name", "its name"),
        same("description", "what it does"),
        same("version", "grows when its source changes"),
        same("file_path", "its file, from the project"),
        json("config", "JSON: its configuration"),
        same("is_active", "whether it can be started"),
        moment("created_at", "when it was found"),
        moment("updated_at", "when it last changed"),
        DATABASE,
    ],
};

const PROJECTS: Table = Table {
    name: "projects",
    about: "checkouts that runs belong to",
    rows: "{db}.projects t",
    letter: "t",
    is_of_runs: false,
    columns: &[
        same("id", "its id"),
        same("name", "its name"),
        same("path", "its root"),
        moment("created_at", "when it was first used"),
        moment("updated_at", "when it last changed"),
        DATABASE,
    ],
};

const WORKSPACES: Table = Table {
    name: "workspaces",
    about: "isolated checkouts that AgentOS made",
    rows: "{db}.workspaces t LEFT JOIN {db}.projects p ON p.key = t.project_id",
    letter: "t",
    is_of_runs: false,
    columns: &[
        same("id", "its id"),
        text("project_id", "the project's id", "p.id"),
        same("kind", "worktree, clone, jj or none"),
        same("status", "creating, ready, in_use, released, trashed or gone"),
        same("path", "where it is"),
        same("branch", "its branch"),
        same("base", "what it was made from"),
        json("detail", "JSON: whatever else is known"),
        same("version", "how often it was written down"),
        moment("created_at", "when it was first written down"),
        moment("updated_at", "when it was last written down"),
        DATABASE,
    ],
};

/// Where rows come from.
pub(in crate::sqlite) struct Place<'a> {
    /// What the connection calls the database.
    pub(in crate::sqlite) database: &'a str,
    /// Its file.
    pub(in crate::sqlite) path: &'a str,
    /// Its number among the databases.
    pub(in crate::sqlite) number: usize,
    /// Whether some of its runs are stale.
    pub(in crate::sqlite) has_stale: bool,
    /// The version of its schema.
    pub(in crate::sqlite) version: u32,
}

/// Which tables and columns a question may need: those whose names are in its text. Working out a column that nobody looks
/// at costs as much as one that somebody does.
pub(in crate::sqlite) struct Wanted {
    text: String,
    is_everything: bool,
}

impl Wanted {
    pub(in crate::sqlite) fn in_question(sql: &str) -> Self {
        let text = sql.to_lowercase();
        let close: String = text.split_whitespace().collect();
        let is_everything = close.replace("count(*)", "").contains('*');
        Self { text, is_everything }
    }

    /// Whether the table is named.
    pub(in crate::sqlite) fn is_asked(&self, table: &str) -> bool {
        self.text.contains(table)
    }

    fn is_named(&self, column: &str) -> bool {
        self.is_everything || self.text.contains(column)
    }
}

/// All of them.
pub(in crate::sqlite) const TABLES: [Table; 8] =
    [RUNS, STEPS, COMMENTS, ARTIFACTS, SESSIONS, DEFINITIONS, PROJECTS, WORKSPACES];

/// The columns of `worktrees`, which is no table of a database.
pub(in crate::sqlite) const WORKTREES: [(&str, &str); 5] = [
    ("id", "`main`, a UUID, or a workspace's id"),
    ("name", "what it is called"),
    ("path", "its root"),
    ("project_id", "the project's id"),
    ("database", "the file that its runs are in"),
];

impl Table {
    /// The rows of one database, with the columns that are wanted; the others are there and empty. Of runs that another
    /// database has as they are now, nothing.
    pub(in crate::sqlite) fn rows_of(&self, place: &Place<'_>, wanted: &Wanted) -> String {
        let mut sql = String::from("SELECT ");
        for (at, column) in self.columns.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            let is_wanted = wanted.is_named(column.name);
            let default = older::default_of(place.version, self.name, column.name);
            let value = match default {
                _ if !is_wanted => "NULL".to_owned(),
                Some(default) => default.to_owned(),
                None => self.value(column),
            };
            let _infallible = write!(sql, "{comma}{value} AS \"{}\"", column.name);
        }
        let _infallible = write!(sql, " FROM {}", self.rows);
        if self.is_of_runs && place.has_stale {
            let _infallible = write!(
                sql,
                " WHERE r.id NOT IN (SELECT id FROM main.stale WHERE number = {})",
                place.number
            );
        }
        let quoted = format!("'{}'", place.path.replace('\'', "''"));
        sql.replace(HERE, place.database).replace("{database}", &quoted)
    }

    fn value(&self, column: &Column) -> String {
        let (letter, name) = (self.letter, column.name);
        match column.from {
            From::Same => format!("{letter}.\"{name}\""),
            From::Json => format!(
                "CASE typeof({letter}.{name}) WHEN 'integer' THEN \
                 (SELECT b.value FROM {HERE}.blobs b WHERE b.key = {letter}.{name}) ELSE {letter}.{name} END"
            ),
            From::Moment => {
                format!("strftime('%Y-%m-%dT%H:%M:%fZ', {letter}.{name} / 1000.0, 'unixepoch')")
            }
            From::Text(sql) => sql.to_owned(),
        }
    }
}
