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
