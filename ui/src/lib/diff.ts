/** A unified diff, understood: files, and lines with their numbers. */

export interface DiffLine {
  /** A note is the diff's own word about the line above it. */
  kind: 'add' | 'del' | 'normal' | 'hunk' | 'note';
  before: number | null;
  after: number | null;
  text: string;
}
export interface DiffFile {
  from: string | null;
  to: string | null;
  name: string;
  added: number;
  removed: number;
  isNew: boolean;
  isGone: boolean;
  lines: DiffLine[];
}

export async function filesOf(text: string): Promise<DiffFile[]> {
  const { default: parse } = await import('parse-diff');
  return parse(text).map((file) => {
    const lines: DiffLine[] = [];
    for (const chunk of file.chunks) {
      lines.push({ kind: 'hunk', before: null, after: null, text: chunk.content });
      for (const change of chunk.changes) {
        const text = change.content.slice(1);
        if (change.content.startsWith('\\')) lines.push({ kind: 'note', before: null, after: null, text: text.trim() });
        else if (change.type === 'add') lines.push({ kind: 'add', before: null, after: change.ln, text });
        else if (change.type === 'del') lines.push({ kind: 'del', before: change.ln, after: null, text });
        else lines.push({ kind: 'normal', before: change.ln1, after: change.ln2, text });
      }
    }
    const real = (name: string | undefined) => (!name || name === '/dev/null' ? null : name);
    const from = real(file.from);
    const to = real(file.to);
    return {
      from,
      to,
      name: to ?? from ?? '?',
      added: file.additions,
      removed: file.deletions,
      isNew: file.new === true || from === null,
      isGone: file.deleted === true || to === null,
      lines,
    };
  });
}
