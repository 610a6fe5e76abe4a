/**
 * What is said when a field is left moves what is below it. If it was left because a button there is being pressed, that
 * button would be gone from under the pointer before it is let go, and the press would be lost: so that is waited for.
 */

let isDown = false;
addEventListener('pointerdown', () => (isDown = true), true);
for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => (isDown = false), true);

/** Now, or when the pointer is let go and what it has pressed was told of it. */
export function afterPress(then: () => void): void {
  if (!isDown) return then();
  const ended = new AbortController();
  const go = () => {
    ended.abort();
    setTimeout(then);
  };
  for (const end of ['pointerup', 'pointercancel']) addEventListener(end, go, { signal: ended.signal });
}
