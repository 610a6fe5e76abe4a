-- Version 1.
--
-- Every row has an integer `key` for the inside and an `id` for the outside: columns named `…_id` hold keys, and whoever
-- asks through the store sees ids. Times are milliseconds since the Unix epoch. In columns that hold JSON, text is the
-- value and an integer the key of the blob that holds it.

-- This history's own identity: a copy that was put back is told from another database of ours.
CREATE TABLE store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL,
    -- The largest position in the log that was given out and is gone again.
    gone INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE projects (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    path TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE workflow_definitions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project_id INTEGER NOT NULL REFERENCES projects (key) ON DELETE CASCADE,
    name TEXT NOT NULL,
    description TEXT,
    version INTEGER NOT NULL,
    file_path TEXT,
    config ANY,
    is_active INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (project_id, name)
) STRICT;

CREATE TABLE workflow_definition_versions (
    key INTEGER PRIMARY KEY,
    definition_id INTEGER NOT NULL REFERENCES workflow_definitions (key) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    hash TEXT NOT NULL,
    author_version TEXT,
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (definition_id, version),
    UNIQUE (definition_id, hash)
) STRICT;

CREATE TABLE workflow_runs (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    run_id TEXT NOT NULL UNIQUE,
    -- This table stands after the definitions: a project that goes takes its runs first, and RESTRICT has nothing to say.
    workflow_def_id INTEGER REFERENCES workflow_definitions (key) ON DELETE RESTRICT,
    project_id INTEGER REFERENCES projects (key) ON DELETE CASCADE,
    workflow TEXT NOT NULL,
    definition_hash TEXT NOT NULL,
    definition_version INTEGER,
    status TEXT NOT NULL,
    waiting TEXT,
    current_workflow_step_id INTEGER,
    started_at INTEGER,
    completed_at INTEGER,
    duration INTEGER,
    branch_name TEXT,
    commit_sha TEXT,
    pr_url TEXT,
    input ANY,
    output ANY,
    error ANY,
    state ANY,
    log_file_path TEXT,
    worktree_id TEXT,
    work_dir TEXT,
    workspace_dir TEXT,
    workspace_id TEXT,
    context_dir TEXT,
    parent_run_id TEXT,
    forked_from TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- What a commit checks: where the log ends, who holds the run, how it stands (0 working, 1 parked, 2 completed,
    -- 3 failed, 4 timed out, 5 cancelled), how many messages wait.
    head INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    owner TEXT,
    standing INTEGER NOT NULL,
    wake_at INTEGER,
    messages INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The log: one row a commit. Rows are only ever added, and leave only with their run. Positions are given out by the
-- writer and never twice; `AUTOINCREMENT` would do the same, for one more page in every commit.
CREATE TABLE run_log (
    position INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES workflow_runs (key) ON DELETE CASCADE,
    first INTEGER NOT NULL,
    chunk TEXT NOT NULL
) STRICT;

-- Every message that a run ever had. What was consumed keeps its key and loses its text.
CREATE TABLE run_inbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES workflow_runs (key) ON DELETE CASCADE,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    message TEXT
) STRICT;

CREATE TABLE workflow_steps (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    execution_id INTEGER NOT NULL REFERENCES workflow_runs (key) ON DELETE CASCADE,
    step_number INTEGER NOT NULL,
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    phase TEXT,
    status TEXT NOT NULL,
    started_at INTEGER,
    completed_at INTEGER,
    duration INTEGER,
    input ANY,
    output ANY,
    error ANY,
    attempt_number INTEGER NOT NULL DEFAULT 1,
    max_attempts INTEGER NOT NULL DEFAULT 3,
    log_file_path TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE agent_sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    execution_id INTEGER NOT NULL REFERENCES workflow_runs (key) ON DELETE CASCADE,
    workflow_step_id INTEGER REFERENCES workflow_steps (key) ON DELETE CASCADE,
    name TEXT NOT NULL,
    agent TEXT,
    model TEXT,
    session_id TEXT,
    status TEXT NOT NULL,
    session_file_path TEXT,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cached_tokens INTEGER,
    cost_usd REAL,
    exit_code INTEGER,
    error ANY,
    started_at INTEGER,
    completed_at INTEGER,
    duration INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE workflow_comments (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    execution_id INTEGER NOT NULL REFERENCES workflow_runs (key) ON DELETE CASCADE,
    step_id INTEGER REFERENCES workflow_steps (key) ON DELETE CASCADE,
    -- The step of what a person wrote, by its path: rows of steps are made again, remarks are not.
    step_path TEXT,
    message TEXT NOT NULL,
    metadata ANY,
    author TEXT,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE workflow_artifacts (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    execution_id INTEGER NOT NULL REFERENCES workflow_runs (key) ON DELETE CASCADE,
    step_id INTEGER REFERENCES workflow_steps (key) ON DELETE CASCADE,
    agent_session_id INTEGER REFERENCES agent_sessions (key) ON DELETE CASCADE,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    storage_path TEXT NOT NULL,
    storage_type TEXT NOT NULL DEFAULT 'FILESYSTEM',
    mime_type TEXT,
    size_bytes INTEGER,
    metadata ANY,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE workspaces (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project_id INTEGER REFERENCES projects (key) ON DELETE SET NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    path TEXT NOT NULL,
    branch TEXT,
    base TEXT,
    detail ANY,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- Values of wide rows that are too large to be rewritten with them.
CREATE TABLE blobs (
    key INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES workflow_runs (key) ON DELETE CASCADE,
    value TEXT NOT NULL
) STRICT;

-- The step → `current_workflow_step_id` rule. A foreign key would need an index that every step moves twice.
CREATE TRIGGER current_step_is_gone AFTER DELETE ON workflow_steps BEGIN
    UPDATE workflow_runs SET current_workflow_step_id = NULL
    WHERE key = old.execution_id AND current_workflow_step_id = old.key;
END;

CREATE TRIGGER positions_are_not_given_twice AFTER DELETE ON run_log BEGIN
    UPDATE store SET gone = max(gone, old.position);
END;

CREATE UNIQUE INDEX run_log_of_run ON run_log (run, first);
CREATE UNIQUE INDEX run_inbox_keys ON run_inbox (run, key);
CREATE INDEX run_inbox_waiting ON run_inbox (run, number) WHERE message IS NOT NULL;
CREATE INDEX workflow_runs_open ON workflow_runs (standing, wake_at) WHERE standing < 2;
CREATE INDEX workflow_runs_heard ON workflow_runs (owner) WHERE messages > 0;
CREATE UNIQUE INDEX workflow_steps_of_run ON workflow_steps (execution_id, step_number);
CREATE INDEX workflow_comments_of_run ON workflow_comments (execution_id, created_at);
CREATE UNIQUE INDEX workflow_comments_of_people ON workflow_comments (id) WHERE author IS NOT NULL;
CREATE INDEX workflow_comments_of_step ON workflow_comments (step_id) WHERE step_id IS NOT NULL;
CREATE INDEX workflow_artifacts_of_run ON workflow_artifacts (execution_id, type);
CREATE INDEX workflow_artifacts_of_step ON workflow_artifacts (step_id) WHERE step_id IS NOT NULL;
CREATE INDEX workflow_artifacts_of_session ON workflow_artifacts (agent_session_id)
    WHERE agent_session_id IS NOT NULL;
CREATE INDEX agent_sessions_of_run ON agent_sessions (execution_id);
CREATE INDEX agent_sessions_of_step ON agent_sessions (workflow_step_id) WHERE workflow_step_id IS NOT NULL;
CREATE INDEX blobs_of_run ON blobs (run);
CREATE INDEX workflow_runs_by_start ON workflow_runs (coalesce(started_at, 9223372036854775807), id);
CREATE INDEX workflow_runs_by_status ON workflow_runs (status, coalesce(started_at, 9223372036854775807), id);
CREATE INDEX workflow_runs_of_project ON workflow_runs (project_id, status) WHERE project_id IS NOT NULL;
CREATE INDEX workflow_runs_of_definition ON workflow_runs (workflow_def_id, status)
    WHERE workflow_def_id IS NOT NULL;
CREATE INDEX workspaces_of_project ON workspaces (project_id);
