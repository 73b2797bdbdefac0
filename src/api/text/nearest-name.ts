/** The name that `written` most likely misspells. Returns undefined if no name is close. */
export function nearestName(written: string, names: Iterable<string>): string | undefined {
  let nearest: { name: string; distance: number } | undefined;
  for (const name of names) {
    const distance = editDistance(normalized(written), normalized(name));
    if (distance <= Math.ceil(name.length / 4) && distance < (nearest?.distance ?? Infinity)) {
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

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, substituted));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
