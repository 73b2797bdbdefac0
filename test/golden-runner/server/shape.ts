/** The members of a value as sorted `path: type`, with `[]` for the elements of lists. */
export function shapeOf(value: unknown): string[] {
  const lines = new Set<string>();
  const add = (path: string, member: unknown): void => {
    if (path !== '') lines.add(`${path}: ${typeOf(member)}`);
    if (Array.isArray(member)) for (const one of member) add(`${path}[]`, one);
    else if (typeof member === 'object' && member !== null) {
      for (const [key, one] of Object.entries(member)) add(path === '' ? key : `${path}.${key}`, one);
    }
  };
  add('', value);
  return [...lines].sort();
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** At least these members, and none of them of another type. */
export function differencesOfShape(recorded: readonly string[], ours: readonly string[]): object {
  const types = new Map(ours.map((line) => line.split(': ') as [string, string]));
  const missing = recorded.filter((line) => !types.has(line.split(': ')[0] ?? ''));
  const otherwise = recorded.filter((line) => !missing.includes(line) && !ours.includes(line));
  return { missing, otherwise };
}
