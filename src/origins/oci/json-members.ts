/** Returns the members of a JSON object, or none for any other value. */
export function members(value: unknown): ReadonlyMap<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return new Map();
  return new Map(Object.entries(value));
}

/** Returns a member that is a string, or '' if it is missing or not a string. */
export function textOf(object: ReadonlyMap<string, unknown>, name: string): string {
  const value = object.get(name);
  return typeof value === 'string' ? value : '';
}

/** Parses JSON. Returns undefined for other text. */
export function parsedJSON(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}
