import { Marked } from 'marked';
import { describe, expect, test } from 'vitest';
import { htmlOf } from '../../src/lib/markdown';
import { command, quoted } from '../../src/lib/shell';
import { nameOfNode } from '../../src/model/names';

describe('words for a shell', () => {
  test('are in quotes where it would see more in them', () => {
    expect(['/tmp/a-b_c.d', '/my work/$(rm x)', "it's", ''].map(quoted)).toEqual(['/tmp/a-b_c.d', "'/my work/$(rm x)'", `'it'\\''s'`, "''"]);
  });
  test('say in which folder the program is to be run', () => {
    expect(command('/my work', 'show', 'x-abc')).toBe("cd '/my work' && agentos show x-abc");
    expect(command(null, 'signal', 'x', 'a b')).toBe("agentos signal x 'a b'");
  });
});

test('a name does not turn around what is read', () => {
  expect(nameOfNode({ operation: null, name: '\u202egnp.exe', args: null })).toBe('\ufffdgnp.exe');
});

describe('Markdown', () => {
  test('shows HTML as it was written', async () => {
    expect(await htmlOf('a <b>bold</b> one\n\n<script>alert(1)</script>', false, Marked)).toBe('<p>a &lt;b&gt;bold&lt;/b&gt; one</p>\n&lt;script&gt;alert(1)&lt;/script&gt;');
  });
  test('has check lists with their ticks', async () => {
    expect(await htmlOf('- [x] done\n- [ ] open', false, Marked)).toBe('<ul>\n<li>☑ done</li>\n<li>☐ open</li>\n</ul>\n');
  });
  test('is a line in a heading', async () => {
    expect(await htmlOf('Ship **it**?', true, Marked)).toBe('Ship <strong>it</strong>?');
  });
});
