import { describe, expect, test } from 'vitest';
import { agentsOf } from '../../src/model/agents';

describe('agents in the place of others', () => {
  test('are pairs, apart by spaces or commas', () => {
    expect(agentsOf('')).toEqual({ agents: {} });
    expect(agentsOf(' claude=codex,  codex=scripted:/tmp/a=b.toml ')).toEqual({ agents: { claude: 'codex', codex: 'scripted:/tmp/a=b.toml' } });
  });
  test.each(['scripted', 'claude=', '=codex', 'claude=codex scripted', 'claude=codex claude=scripted'])('are refused, not left out, where they are no pairs: %s', (text) => {
    expect(agentsOf(text)).toHaveProperty('error');
  });
});
