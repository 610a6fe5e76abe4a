SELECT name, superseded FROM workflow_steps ORDER BY step_number
