import { isSameName, nearestName } from '../text/nearest-name.ts';
import { type FieldKind, fieldsOfObject, type ObjectField, type ObjectSchema } from './object-schema.ts';

/**
 * Suggests what a misplaced or misspelt field was meant to be: the name in another case, a field of an object above or
 * below, or a similar name. `objectPath` is the place of the object in one of type `rootName`.
 */
export function hintForUnknownField(schema: ObjectSchema, rootName: string, objectPath: string, key: string): string {
  const ancestors = ancestorsOf(schema, rootName, objectPath);
  const own = ancestors.at(-1)?.fields ?? new Map<string, ObjectField>();
  const respelt = [...own.keys()].find((name) => isSameName(name, key));
  if (respelt !== undefined) return `Did you mean "${respelt}"?`;
  const homes = homesOf(schema, ancestors, own, key);
  if (homes.length > 0) return `"${key}" belongs in ${homes.join(' or ')}: check the indentation.`;
  const nearest =
    nearestName(key, own.keys()) ?? [...own.keys()].find((name) => key.length > 3 && name.startsWith(key));
  return nearest === undefined ? 'Check its spelling and its indentation.' : `Did you mean "${nearest}"?`;
}

type Fields = ReadonlyMap<string, ObjectField>;

/** Objects that have the field: the near ones, else one that is further away. */
function homesOf(
  schema: ObjectSchema,
  ancestors: readonly { path: string; fields: Fields }[],
  own: Fields,
  key: string,
): string[] {
  if (['cpu', 'memory', 'ephemeral-storage'].includes(key)) {
    const lists = [...own].filter(([, { kind }]) => kind.type === 'map' && kind.element.type === 'quantity');
    if (lists.length > 0) return lists.map(([name]) => name);
  }
  const near = [homeBelow(schema, own, key, { maxDepth: 1, withLists: false }), homeAbove(ancestors, key)];
  const homes = near.filter((home) => home !== undefined);
  if (homes.length > 0) return homes;
  const top = ancestors[0]?.fields ?? own;
  const far = [own, top].map((fields) => homeBelow(schema, fields, key, { maxDepth: 3, withLists: true }));
  return far.filter((home) => home !== undefined).slice(0, 1);
}

/** The objects on the way to a path, ending with the one at the path. */
function ancestorsOf(schema: ObjectSchema, rootName: string, objectPath: string): { path: string; fields: Fields }[] {
  const ancestors = [{ path: '', fields: fieldsOfObject(schema, rootName) }];
  for (const step of objectPath.match(/[^.[\]]+(?:\[[0-9]+\])*/g) ?? []) {
    const parent = ancestors.at(-1);
    const kind = parent?.fields.get(step.replace(/\[.*/, ''))?.kind;
    const object = kind && objectIn(kind);
    if (!parent || object === undefined) break;
    ancestors.push({
      path: parent.path === '' ? step : `${parent.path}.${step}`,
      fields: fieldsOfObject(schema, object),
    });
  }
  return ancestors;
}

function homeAbove(ancestors: readonly { path: string; fields: Fields }[], key: string): string | undefined {
  const home = ancestors.slice(0, -1).findLast(({ fields }) => fields.has(key));
  return home && (home.path === '' ? 'the outermost object' : home.path);
}

/** The fields in which most mistakes are made. */
const mainFields = ['containers', 'template', 'spec', 'metadata'];

/** Path from the object with these fields to the nearest object below that has the field. */
function homeBelow(
  schema: ObjectSchema,
  fields: Fields,
  key: string,
  { maxDepth, withLists }: { maxDepth: number; withLists: boolean },
): string | undefined {
  let level = [{ path: '', fields }];
  for (let depth = 0; depth < maxDepth; depth++) {
    level = level.flatMap((parent) => childrenOf(schema, parent).filter(({ isList }) => withLists || !isList));
    const home = level.find((child) => child.fields.has(key));
    if (home) return home.path;
  }
  return undefined;
}

function childrenOf(
  schema: ObjectSchema,
  parent: { path: string; fields: Fields },
): { path: string; fields: Fields; isList: boolean }[] {
  const names = [...mainFields.filter((name) => parent.fields.has(name)), ...parent.fields.keys()];
  return names.flatMap((name) => {
    const kind = parent.fields.get(name)?.kind;
    const object = kind && objectIn(kind);
    if (object === undefined) return [];
    const path = `${parent.path}${parent.path === '' ? '' : '.'}${name}${kind?.type === 'list' ? '[]' : ''}`;
    return [
      { path, fields: fieldsOfObject(schema, object), isList: kind?.type === 'list' && !mainFields.includes(name) },
    ];
  });
}

function objectIn(kind: FieldKind): string | undefined {
  if (kind.type === 'object') return kind.name;
  return kind.type === 'list' || kind.type === 'map' ? objectIn(kind.element) : undefined;
}
