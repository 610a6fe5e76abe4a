-- Version 2: what the server is trusted with. It only adds; what was there before is as it was.

-- Checkouts that the server shows, because somebody said so.
CREATE TABLE served_projects (
    id TEXT PRIMARY KEY,
    path BLOB NOT NULL UNIQUE,
    added_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may come in from elsewhere. Of the secret there is only the hash.
CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL CHECK (scope IN ('read', 'run', 'admin')),
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    -- To the hour.
    used_at INTEGER
) STRICT, WITHOUT ROWID;
