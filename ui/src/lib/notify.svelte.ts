/** Notifications of the browser: when a run needs a person, or ends. Only if the user has asked for them. */

import type { Run } from '../api/types';
import { questionOf } from '../model/about';
import { briefly } from '../model/names';
import { needsPerson, isOver, standingOfRun } from '../model/standing';
import { moment } from './format';
import { go } from './router.svelte';
import { keep, recall } from './theme.svelte';
import { toasts } from './toast.svelte';

const KEY = 'agentos.notify';
type Stand = 'asks' | 'over' | 'goes on';

class Notify {
  isOn = $state(recall(KEY) === 'on' && 'Notification' in window && Notification.permission === 'granted');
  isPossible = 'Notification' in window;
  #known = new Map<string, Stand>();
  #since = Date.now();

  async toggle(): Promise<void> {
    if (this.isOn) {
      this.isOn = false;
      toasts.say('You are told of nothing more');
    } else {
      this.isOn = (await Notification.requestPermission()) === 'granted';
      if (this.isOn) toasts.say('You are told when a run needs you or ends, while you look elsewhere');
      else toasts.say('The browser does not allow this page to notify you: its settings for this address say so', { isError: true });
    }
    keep(KEY, this.isOn ? 'on' : 'off');
  }

  /** Looks at runs as they are now; tells of those that have changed since the last look. */
  look(runs: readonly Run[]): void {
    for (const run of runs) {
      const stand: Stand = needsPerson(run) ? 'asks' : isOver(run.status) ? 'over' : 'goes on';
      const before = this.#known.get(run.id) ?? this.#first(run, stand);
      this.#known.set(run.id, stand);
      if (before !== stand && stand !== 'goes on') this.#tell(run);
    }
  }

  /** What an unknown run counts as: an old one is no news, a new one may ask before anybody has seen it go on. */
  #first(run: Run, stand: Stand): Stand {
    return (moment(run.created_at) ?? 0) > this.#since ? 'goes on' : stand;
  }

  #tell(run: Run): void {
    if (!this.isOn || document.visibilityState === 'visible') return;
    const note = new Notification(`${run.run_id}: ${standingOfRun(run).label}`, { tag: run.id, icon: '/icon.svg', body: this.#more(run) ?? run.workflow });
    note.onclick = () => {
      window.focus();
      go(`/runs/${encodeURIComponent(run.run_id)}`);
      note.close();
    };
  }

  /** What is asked, or what is wrong: whoever reads that knows whether it can wait. */
  #more(run: Run): string | null {
    if (needsPerson(run)) return questionOf(run);
    return run.error?.message ? briefly(run.error.message) : null;
  }
}

export const notify = new Notify();
