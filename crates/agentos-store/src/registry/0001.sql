-- Version 1. Paths are the bytes that the file system knows them by. Times are milliseconds since the Unix epoch.

-- Checkouts that were used.
CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    path BLOB NOT NULL UNIQUE,
    -- The git directory that makes checkouts one repository.
    repository BLOB,
    worktree_id TEXT NOT NULL,
    used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX projects_by_repository ON projects (repository);

-- The files that their runs were kept in.
CREATE TABLE databases (
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    path BLOB NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, path)
) STRICT, WITHOUT ROWID;
