/**
 * Returns a value of the configuration that containerd includes in its verbose status. Returns undefined if the runtime
 * includes none.
 */
export function configValue(info: Readonly<Record<string, string>>, path: readonly string[]): unknown {
  return path.reduce(memberOf, parsed(info['config']));
}

function parsed(text = ''): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Other runtimes report it in another format, or not at all.
    return undefined;
  }
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return new Map<string, unknown>(Object.entries(value)).get(name);
}
