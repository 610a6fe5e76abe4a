UPDATE workflow_runs SET created_at = created_at - 86400000;
