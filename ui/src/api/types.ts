/**
 * The documents of the REST API, under short names. They are made out of the server's own description (`openapi.json`,
 * `npm run types`); only what is free JSON there and has a form of its own is said here.
 */

import type { components } from './schema';

type Schemas = components['schemas'];
export type Json = unknown;

/** A field that may be null is always there; one that may be missing may be missing. */
type Told<T> = { [K in keyof T as null extends T[K] ? K : never]-?: Exclude<T[K], undefined> } & {
  [K in keyof T as null extends T[K] ? never : K]: T[K];
};
/** The same with other types for some fields. */
type With<T, Fields> = Omit<Told<T>, keyof Fields> & Fields;

export interface Failure {
  kind?: string;
  message?: string;
  detail?: Json;
}

export type Waiting = Told<Schemas['Waiting']>;
export type Step = With<Schemas['Step'], { error: Failure | null }>;
export type Run = With<Schemas['Execution'], { error: Failure | null; waiting: Waiting | null; current_step: Step | null }>;
export type Comment = Told<Schemas['Comment']>;
export type Artifact = Told<Schemas['Artifact']>;
export type AgentSession = With<Schemas['AgentSession'], { error: Failure | null }>;
export type Operation = Told<Schemas['Operation']>;
export type RunDetail = Run & {
  input: Json;
  output: Json;
  state: Json;
  steps: Step[];
  comments: Comment[];
  artifacts: Artifact[];
  agent_sessions: AgentSession[];
  operations: Operation[];
  /** A workflow that has changed since the run failed, and which run to retry. */
  changed: Schemas['ChangedWorkflow'] | null;
};

export type Project = Told<Schemas['Project']>;
export type Workflow = Told<Schemas['Workflow']>;
export type Statistics = Told<Schemas['Statistics']>;
export type WorkflowVersion = Told<Schemas['WorkflowVersion']>;
export type WorkflowDetail = Workflow & { source: Json; versions: WorkflowVersion[]; statistics: Statistics };

export type Finding = Told<Schemas['Finding']>;
export type Verdict = With<Schemas['Verdict'], { findings: Finding[] }>;
export type Workspace = Told<Schemas['Workspace']>;
export type WorkspaceDetail = Workspace & { size_bytes: number | null; verdict: Verdict | null };

/** What runs add up to. */
export type Sums = Schemas['Totals'];

export interface Page<T> {
  items: T[];
  page: number;
  limit: number;
  total: number;
  next: string | null;
  unreadable?: Schemas['Unreadable'][];
}

/** One fact of a run's log with its position: what it is depends on its kind. */
export interface Entry {
  seq: number;
  at: string | number;
  kind: string;
  [field: string]: unknown;
}
