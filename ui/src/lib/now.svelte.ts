/** The time, for everything that tells how long ago something was or how long it takes: one clock for the page. */

class Now {
  value = $state(Date.now());

  constructor() {
    // Nobody reads a clock in a tab that can't be seen.
    setInterval(() => {
      if (document.visibilityState === 'visible') this.value = Date.now();
    }, 1000);
    document.addEventListener('visibilitychange', () => (this.value = Date.now()));
  }
}

export const now = new Now();
