-- What the pages of these tables held is lost; runs and projects are still there.
DROP TABLE workflow_definition_versions;
DROP TABLE workflow_definitions;
DROP TABLE workflow_artifacts;
DROP TABLE workspaces;
