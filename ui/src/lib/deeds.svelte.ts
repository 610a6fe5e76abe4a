/** What can be done on the page that is shown, for whoever looks for it by typing. A page offers it while it is there. */

import { untrack } from 'svelte';

export interface Deed {
  icon: string;
  text: string;
  /** The key that does the same. */
  more: string;
  run: () => void;
}

let offers = $state.raw<readonly (readonly Deed[])[]>([]);

/** `$effect(() => offer([…]))`: the effect's end takes it back. */
export function offer(deeds: readonly Deed[]): () => void {
  untrack(() => (offers = [...offers, deeds]));
  return () => untrack(() => (offers = offers.filter((one) => one !== deeds)));
}

export function offered(): Deed[] {
  return offers.flat();
}
