-- Makes a database what the first version of the schema was.
ALTER TABLE workflow_steps DROP COLUMN superseded;
ALTER TABLE agent_sessions DROP COLUMN superseded;
ALTER TABLE agent_sessions DROP COLUMN inherited;
PRAGMA user_version = 1;
