import diff from 'microdiff';

/** A changed field. An absent value is omitted. */
export interface FieldDifference {
  /**
   * Path as the API server writes it, such as `spec.containers[0].image`. An index refers to the desired list if the
   * item is in it.
   */
  path: string;
  current?: unknown;
  desired?: unknown;
}

/**
 * Every field in which two API objects differ. Compares named items of a list by name, so that an item inserted at the
 * start does not change all others.
 */
export function fieldDifferences(current: object, desired: object): FieldDifference[] {
  return diff(byName(current), byName(desired), { cyclesFix: false }).map(({ path: steps }) => {
    const before = follow(current, steps);
    const after = follow(desired, steps);
    return {
      path: (after.value === undefined ? before : after).path,
      ...(before.value !== undefined && { current: before.value }),
      ...(after.value !== undefined && { desired: after.value }),
    };
  });
}

/** The fields that may identify list items. The first one counts that all items have with distinct values. */
const itemKeys = ['name', 'mountPath', 'containerPort', 'key', 'ip'];

/** Replaces each list of named items by an object with these names as keys. */
function byName(value: object): Record<string, unknown> {
  return withoutPrototype(Object.entries(value).map(([key, member]) => [key, mapped(member)]));
}

function mapped(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value)) return byName(value);
  const items: readonly unknown[] = value;
  const names = namesOf(items);
  if (!names) return items.map(mapped);
  return withoutPrototype(items.map((item, index) => [names[index] ?? '', mapped(item)]));
}

/** An object without prototype, because a label may be called `constructor`. */
function withoutPrototype(entries: readonly [string, unknown][]): Record<string, unknown> {
  const object: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of entries) object[key] = value;
  return object;
}

/** Returns undefined if no field identifies the items. */
function namesOf(items: readonly unknown[]): string[] | undefined {
  for (const key of itemKeys) {
    const names = items.map((item) => memberOf(item, key)).filter((name) => name !== undefined);
    if (names.length === items.length && new Set(names).size === items.length) return names.map(String);
  }
  return undefined;
}

function memberOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return new Map<string, unknown>(Object.entries(value)).get(key);
}

/** The value at the steps of a difference in the original object, and its path. */
function follow(root: object, steps: readonly (string | number)[]): { path: string; value: unknown } {
  let value: unknown = root;
  let path = '';
  for (const step of steps) {
    if (Array.isArray(value)) {
      const items: readonly unknown[] = value;
      const index = namesOf(items)?.indexOf(String(step)) ?? Number(step);
      path += `[${index}]`;
      value = items[index];
    } else {
      path += /^[\w-]+$/.test(String(step)) ? `.${step}` : `[${JSON.stringify(step)}]`;
      value = memberOf(value, String(step));
    }
  }
  return { path: path.replace(/^\./, ''), value };
}
