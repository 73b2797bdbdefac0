import diff from 'microdiff';

/** A field that is not what it was; an absent value is left out. */
export interface FieldDifference {
  /** As the API server writes it, such as `spec.containers[0].image`; an index is that in the desired list, if it is there. */
  path: string;
  current?: unknown;
  desired?: unknown;
}

/**
 * Every field in which two API objects differ. Items of a list that have names are compared by name, so that one more at
 * the beginning is no difference of all that follow.
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

/** The fields by which items of lists are told apart: the first one that all of them have, and no two the same. */
const itemKeys = ['name', 'mountPath', 'containerPort', 'key', 'ip'];

/** The object with every list of items with names as an object of these names. */
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

/** A label may be called `constructor`. */
function withoutPrototype(entries: readonly [string, unknown][]): Record<string, unknown> {
  const object: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of entries) object[key] = value;
  return object;
}

/** Undefined when the items cannot be told apart. */
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

/** What the steps of a difference lead to in an object as it is written, and the path of that. */
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
