/** The documents of the REST API, under short names. */

export type RunStatus = 'PENDING' | 'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'TIMED_OUT';
export type StepStatus = 'PENDING' | 'RUNNING' | 'COMPLETED' | 'FAILED' | 'RETRYING' | 'SKIPPED' | 'CANCELLED';
export type SessionStatus = 'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELLED';
export type Json = unknown;

export interface Failure {
  kind?: string;
  message?: string;
  detail?: Json;
}
export interface Waiting {
  kind: 'timer' | 'signal' | 'approval' | 'child' | 'retry' | 'slot' | 'disk';
  since: string;
  until: string | null;
}
export interface Step {
  id: string;
  execution_id: string;
  step_number: number;
  name: string;
  path: string;
  phase: string | null;
  status: StepStatus;
  started_at: string | null;
  completed_at: string | null;
  duration: number | null;
  input: Json;
  output: Json;
  error: Failure | null;
  attempt_number: number;
  max_attempts: number;
  log_file_path: string | null;
  created_at: string;
  updated_at: string;
}
export interface Run {
  id: string;
  execution_id: string;
  run_id: string;
  workflow_def_id: string | null;
  project_id: string | null;
  workflow: string;
  definition_hash: string;
  definition_version: number | null;
  status: RunStatus;
  interrupted: boolean;
  waiting: Waiting | null;
  current_step: Step | null;
  started_at: string | null;
  completed_at: string | null;
  duration: number | null;
  branch_name: string | null;
  commit_sha: string | null;
  pr_url: string | null;
  error: Failure | null;
  log_file_path: string | null;
  worktree_id: string | null;
  work_dir: string | null;
  workspace_dir: string | null;
  workspace_id: string | null;
  context_dir: string | null;
  parent_run_id: string | null;
  forked_from: string | null;
  created_at: string;
  updated_at: string;
  seq: number;
  worktree?: string;
  database?: string;
}
export interface Comment {
  id: string;
  step_id: string | null;
  message: string;
  metadata: Json;
  author: string | null;
  created_at: string;
}
export interface Artifact {
  id: string;
  step_id: string | null;
  agent_session_id: string | null;
  name: string;
  type: string;
  storage_path: string;
  storage_type: string;
  mime_type: string | null;
  size_bytes: number | null;
  metadata: Json;
  created_at: string;
}
export interface AgentSession {
  id: string;
  workflow_step_id: string | null;
  name: string;
  agent: string | null;
  model: string | null;
  session_id: string | null;
  status: SessionStatus;
  session_file_path: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  cached_tokens: number | null;
  cost_usd: number | null;
  exit_code: number | null;
  error: Failure | null;
  started_at: string | null;
  completed_at: string | null;
  duration: number | null;
  created_at: string;
  updated_at: string;
}
export interface Operation {
  operation: string;
  kind: string | null;
  name: string;
  step_number: number | null;
  try: number;
  since: string;
  command: string | null;
  question: { text: string; diff?: Json } | null;
  held?: string;
}
export interface RunDetail extends Run {
  input: Json;
  output: Json;
  state: Json;
  steps: Step[];
  comments: Comment[];
  artifacts: Artifact[];
  agent_sessions: AgentSession[];
  operations: Operation[];
}
export interface Page<T> {
  items: T[];
  page: number;
  limit: number;
  total: number;
  next: string | null;
  unreadable?: { path: string; reason: string }[];
}
/** One fact of a run's log: what it is depends on its kind. */
export interface Entry {
  seq: number;
  at: string | number;
  kind: string;
  [field: string]: unknown;
}
export interface Workflow {
  id: string;
  project_id: string | null;
  name: string;
  description: string | null;
  version: number;
  file_path: string | null;
  config: Json;
  input: Json;
  is_active: boolean;
  created_at: string;
  updated_at: string;
}
export interface Statistics {
  runs: number;
  by_status: Record<string, number>;
  average_duration: number | null;
  last_started_at: string | null;
}
export interface WorkflowVersion {
  version: number;
  hash: string;
  author_version: string | null;
  created_at: string;
}
export interface WorkflowDetail extends Workflow {
  source: Json;
  versions: WorkflowVersion[];
  statistics: Statistics;
}
export interface Workspace {
  id: string;
  project_id: string | null;
  kind: string;
  status: string;
  path: string;
  branch: string | null;
  base: string | null;
  detail: Json;
  version: number;
  created_at: string;
  updated_at: string;
}
export interface Finding {
  what: string;
  weight: string;
  kept: string;
  count: number;
  bytes: number;
  examples: string[];
}
export interface Verdict {
  findings: Finding[];
  integrated?: { how: string; into: string } | null;
  branch?: string | null;
}
export interface WorkspaceDetail extends Workspace {
  size_bytes: number | null;
  verdict: Verdict | null;
}
