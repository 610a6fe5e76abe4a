-- Version 2.
--
-- A run that goes on under another source keeps the rows of steps and sessions that the source does not ask for: they are
-- superseded. A run that was made out of another one begins with sessions of that one: they are inherited, and count for
-- the run that paid for them.

ALTER TABLE workflow_steps ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agent_sessions ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agent_sessions ADD COLUMN inherited INTEGER NOT NULL DEFAULT 0;

-- What had ended before a fork was created was done by the run that it was made out of. Where a log can be read, it decides
-- (sqlite/migrate/sessions.rs).
UPDATE agent_sessions SET inherited = 1
WHERE completed_at <= (SELECT r.created_at FROM workflow_runs r WHERE r.key = execution_id AND r.forked_from IS NOT NULL);

-- What had not was begun again by the fork, and not before there was one.
UPDATE agent_sessions SET started_at = r.created_at,
    duration = max(0, agent_sessions.completed_at - r.created_at)
FROM workflow_runs r
WHERE r.key = agent_sessions.execution_id AND r.forked_from IS NOT NULL AND agent_sessions.inherited = 0
    AND agent_sessions.started_at < r.created_at;
