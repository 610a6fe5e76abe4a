/** What the items of a basket cost together, in cents. */
export function total(items) {
  return items.reduce((sum, item) => sum + item.cents * (item.count ?? 1), 0);
}
