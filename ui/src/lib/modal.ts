/**
 * Shows a dialog above everything. The browser keeps the focus inside; since a dialog of ours is taken out of the page
 * instead of being closed, giving the focus back is left to us.
 *
 * `$effect(() => modal(element, first))` with what is to have the focus.
 */
export function modal(dialog: HTMLDialogElement, first: HTMLElement): () => void {
  const before = document.activeElement;
  dialog.showModal();
  first.focus();
  return () => {
    // When it is gone. Whoever has taken the focus since then keeps it.
    queueMicrotask(() => {
      const isFree = document.activeElement === null || document.activeElement === document.body;
      if (isFree && before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    });
  };
}
