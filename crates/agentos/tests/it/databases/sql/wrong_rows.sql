-- Rows that do not follow from their logs.
UPDATE workflow_steps SET status = 'FAILED';
UPDATE workflow_runs SET messages = 3;
INSERT INTO blobs (run, value) SELECT key, 'left' FROM workflow_runs;
