/** Maximum number of names in a hint. A node has up to hundreds of pods. */
const maxNames = 10;

/** The hint for an unknown pod: the existing pods. */
export function podList(fullNames: Iterable<string>): string {
  const names = [...new Set(fullNames)].sort();
  const more = names.length - maxNames;
  if (names.length === 0) return 'There are no pods.';
  return `Pods: ${names.slice(0, maxNames).join(', ')}${more > 0 ? ` and ${more} more: kubelet-ts ps` : ''}.`;
}
