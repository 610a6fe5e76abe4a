/** Who works in the place of which agent, as it is written into a form: `claude=codex planner=scripted:plan.toml`. */

export interface Replaced {
  agents: Record<string, string>;
  /** What is wrong with the text. Then nothing is to be started: it would be with agents that nobody has asked for. */
  error: string | null;
}

export function replacedOf(text: string): Replaced {
  const agents: Record<string, string> = {};
  for (const pair of text.split(/[\s,]+/).filter(Boolean)) {
    const at = pair.indexOf('=');
    const [name, other] = [pair.slice(0, Math.max(at, 0)), pair.slice(at + 1)];
    if (!name || !other) return { agents: {}, error: `“${pair}” does not say who is replaced by whom: write it as claude=codex.` };
    if (name in agents) return { agents: {}, error: `${name} is replaced twice.` };
    agents[name] = other;
  }
  return { agents, error: null };
}
