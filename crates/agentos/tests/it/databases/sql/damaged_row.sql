-- The row of the latest run has bytes where there should be text.
UPDATE workflow_runs SET work_dir = CAST(x'2fff' AS TEXT) WHERE key = (SELECT max(key) FROM workflow_runs);
