/** A value of the configuration that containerd shows in its verbose status. Undefined if the runtime shows none. */
export function configValue(info: Readonly<Record<string, string>>, path: readonly string[]): unknown {
  return path.reduce(memberOf, parsed(info['config']));
}

function parsed(text = ''): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Other runtimes report another form, or none.
    return undefined;
  }
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return new Map<string, unknown>(Object.entries(value)).get(name);
}
