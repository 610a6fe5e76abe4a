/** Agents that are to work in the place of others, as people write it down: `claude=codex`, apart by spaces or commas. */
export function agentsOf(text: string): { agents: Record<string, string> } | { error: string } {
  const agents: Record<string, string> = {};
  for (const pair of text.split(/[\s,]+/).filter(Boolean)) {
    const at = pair.indexOf('=');
    const [one, other] = [pair.slice(0, at), pair.slice(at + 1)];
    if (at < 1 || other === '') return { error: `“${pair}” does not say who works in whose place: write it like claude=codex.` };
    if (Object.hasOwn(agents, one)) return { error: `“${one}” is there twice.` };
    agents[one] = other;
  }
  return { agents };
}
