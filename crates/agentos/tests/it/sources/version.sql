SELECT version FROM workflow_definitions WHERE name = 'work'
