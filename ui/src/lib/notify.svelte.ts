/** Notifications of the browser: when a run needs a person, or ends. Only if the user has asked for them. */

import type { Run } from '../api/types';
import { needsPerson, isOver, standingOfRun } from '../model/standing';
import { go } from './router.svelte';
import { keep, recall } from './theme.svelte';

const KEY = 'agentos.notify';

class Notify {
  isOn = $state(recall(KEY) === 'on' && 'Notification' in window && Notification.permission === 'granted');
  isPossible = 'Notification' in window;
  #known = new Map<string, string>();

  async toggle(): Promise<void> {
    if (this.isOn) this.isOn = false;
    else this.isOn = this.isPossible && (await Notification.requestPermission()) === 'granted';
    keep(KEY, this.isOn ? 'on' : 'off');
  }

  /** Looks at runs as they are now; tells of those that have changed since the last look. */
  look(runs: readonly Run[]): void {
    for (const run of runs) {
      const standing = needsPerson(run) ? 'asks' : isOver(run.status) ? 'over' : 'goes on';
      const before = this.#known.get(run.id);
      this.#known.set(run.id, standing);
      // A run that is seen for the first time is no news.
      if (before === undefined || before === standing || standing === 'goes on') continue;
      this.#tell(run);
    }
  }

  #tell(run: Run): void {
    if (!this.isOn || document.visibilityState === 'visible') return;
    const note = new Notification(`${run.run_id}: ${standingOfRun(run).label}`, { tag: run.id, icon: '/icon.svg' });
    note.onclick = () => {
      window.focus();
      go(`/runs/${encodeURIComponent(run.run_id)}`);
    };
  }
}

export const notify = new Notify();
