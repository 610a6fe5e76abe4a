// What a workflow can import.
export {
  createWorkflow, agent, claude, codex, gemini, NonRetryableError, CancelledError, TimeoutError, __at, __caught,
} from "agentos:host";
