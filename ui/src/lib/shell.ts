/** Words for a shell: what is copied is pasted into one, and a path may be called anything. */

/** A word as it is, or in quotes if a shell would see more in it. */
export function quoted(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A command of the program, in the folder where it finds its project. */
export function command(folder: string | null | undefined, ...args: string[]): string {
  const line = ['agentos', ...args.map(quoted)].join(' ');
  return folder ? `cd ${quoted(folder)} && ${line}` : line;
}
