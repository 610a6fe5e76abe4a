/** The server's own figures (`/metrics`, the text format of Prometheus), as far as the dashboard shows them. */

export interface Figures {
  tokens: number;
  cost: number;
}

export function figuresOf(text: string): Figures {
  let tokens = 0;
  let cost = 0;
  for (const line of text.split('\n')) {
    const match = /^(\w+)(?:\{([^}]*)\})? ([0-9.eE+-]+)$/.exec(line);
    if (!match) continue;
    const [, name, labels, value] = match;
    // What was read from a cache is among what was read.
    if (name === 'agentos_agent_tokens_total' && !labels?.includes('"cached"')) tokens += Number(value);
    if (name === 'agentos_agent_cost_usd_total') cost += Number(value);
  }
  return { tokens, cost };
}
