/** The name that `written` most likely misspells. Returns undefined if no name is close. */
export function nearestName(written: string, names: Iterable<string>): string | undefined {
  let nearest: { name: string; distance: number } | undefined;
  for (const name of names) {
    const compared = normalized(name);
    const distance = editDistance(normalized(written), compared);
    if (distance <= Math.ceil(compared.length / 4) && distance < (nearest?.distance ?? Infinity)) {
      nearest = { name, distance };
    }
  }
  return nearest?.name;
}

/** True if the names differ only in case, dashes and underscores. */
export function isSameName(a: string, b: string): boolean {
  return normalized(a) === normalized(b);
}

function normalized(name: string): string {
  return name.slice(0, 64).replaceAll(/[-_]/g, '').toLowerCase();
}

/** Exchanged neighbours, as in `lgos`, count as one edit. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const exchanged = isExchanged ? (beforePrevious[j - 2] ?? 0) + 1 : Infinity;
      current.push(Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, substituted, exchanged));
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
