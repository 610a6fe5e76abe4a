-- As earlier versions named operations.
UPDATE workflow_steps SET name = '061612ea057f7b91' WHERE step_number = 1;
