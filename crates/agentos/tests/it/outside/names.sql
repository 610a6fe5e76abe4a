SELECT name FROM workflow_steps ORDER BY step_number
