SELECT current_workflow_step_id AS id FROM workflow_runs
