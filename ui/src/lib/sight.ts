/** Bars that are wider than a small screen: what is chosen in one is never out of sight. */

const MARGIN = 40;

/** Use as `{@attach inSight('[aria-selected="true"]')}` on an element that scrolls sideways. */
export function inSight(selector: string) {
  return (bar: HTMLElement): (() => void) => {
    const look = () => {
      const chosen = bar.querySelector<HTMLElement>(selector);
      if (!chosen) return;
      const from = chosen.getBoundingClientRect().left - bar.getBoundingClientRect().left + bar.scrollLeft;
      const to = from + chosen.offsetWidth;
      if (from - MARGIN < bar.scrollLeft) bar.scrollLeft = from - MARGIN;
      else if (to + MARGIN > bar.scrollLeft + bar.clientWidth) bar.scrollLeft = to + MARGIN - bar.clientWidth;
    };
    look();
    const watcher = new MutationObserver(look);
    watcher.observe(bar, { subtree: true, childList: true, attributeFilter: ['aria-selected', 'aria-pressed'] });
    return () => watcher.disconnect();
  };
}
