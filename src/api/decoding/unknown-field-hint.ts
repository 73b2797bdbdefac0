import { unmountableVolumes } from '../values/unmountable-volumes.ts';
import { isSameName, nearestName } from '../text/nearest-name.ts';
import { type FieldKind, fieldsOfObject, type ObjectField, type ObjectSchema } from './object-schema.ts';

/**
 * Suggests the intended field for a misplaced or misspelt one: the name in another case, a field of an object above or
 * below, or a similar name. `objectPath` is the path of the object in an object of type `rootName`.
 */
export function hintForUnknownField(schema: ObjectSchema, rootName: string, objectPath: string, key: string): string {
  const ancestors = ancestorsOf(schema, rootName, objectPath);
  const own = ancestors.at(-1)?.fields ?? new Map<string, ObjectField>();
  const respelt = [...own.keys()].find((name) => isSameName(name, key));
  if (respelt !== undefined) return `Did you mean "${respelt}"?`;
  const near = nearHomes(schema, ancestors, own, key);
  if (near.length > 0) return `"${key}" belongs in ${near.join(' or ')}: check the indentation.`;
  const beside = siblingsWithField(schema, ancestors, key);
  if (beside.length > 0) return `"${key}" is a field of ${beside.join(' or ')}, not of ${lastStep(objectPath)}.`;
  const far = farHome(schema, ancestors, own, key);
  if (far !== undefined) return `"${key}" belongs in ${far}: check the indentation.`;
  const nearest =
    nearestName(key, own.keys()) ?? [...own.keys()].find((name) => key.length > 3 && name.startsWith(key));
  return nearest === undefined ? 'Check its spelling and its indentation.' : `Did you mean "${nearest}"?`;
}

type Fields = ReadonlyMap<string, ObjectField>;

interface ParentObject {
  path: string;
  fields: Fields;
}

/** Maximum number of candidates in a hint. If there are more, none is likely. */
const maxHomes = 2;

/** Objects directly below, and on the path to the object, that have the field. */
function nearHomes(schema: ObjectSchema, ancestors: readonly ParentObject[], own: Fields, key: string): string[] {
  if (['cpu', 'memory', 'ephemeral-storage'].includes(key)) {
    const lists = [...own].filter(([, { kind }]) => kind.type === 'map' && kind.element.type === 'quantity');
    if (lists.length > 0) return lists.map(([name]) => name);
  }
  const below = homesBelow(schema, own, key, { maxDepth: 1, withLists: false });
  const above = homeAbove(ancestors, key);
  return [...(below.length > maxHomes ? [] : below), ...(above === undefined ? [] : [above])];
}

/**
 * Names of the fields next to the object that have the key, such as `exec` for a command in httpGet. Indentation would
 * not help there, because most of these fields exclude each other.
 */
function siblingsWithField(schema: ObjectSchema, ancestors: readonly ParentObject[], key: string): string[] {
  const parent = ancestors.at(-2);
  // A list item has other items next to it.
  if (parent === undefined || ancestors.at(-1)?.path.endsWith(']') === true) return [];
  const homes = homesBelow(schema, parent.fields, key, { maxDepth: 1, withLists: false });
  return homes.length > maxHomes ? [] : homes;
}

function farHome(
  schema: ObjectSchema,
  ancestors: readonly ParentObject[],
  own: Fields,
  key: string,
): string | undefined {
  const top = ancestors[0]?.fields ?? own;
  const far = [own, top].flatMap((fields) => homesBelow(schema, fields, key, { maxDepth: 3, withLists: true }));
  // A field of another kind of volume gives no hint here.
  return far.find((home) => !/(^|\.)volumes\[\]\.\w+/.test(home));
}

const lastStep = (path: string): string => path.slice(path.lastIndexOf('.') + 1);

/** The objects on a path, ending with the one at the path. */
function ancestorsOf(schema: ObjectSchema, rootName: string, objectPath: string): ParentObject[] {
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

function homeAbove(ancestors: readonly ParentObject[], key: string): string | undefined {
  const home = ancestors.slice(0, -1).findLast(({ fields }) => fields.has(key));
  return home && (home.path === '' ? 'the outermost object' : home.path);
}

/** The fields in which most mistakes are made. */
const mainFields = ['containers', 'template', 'spec', 'metadata'];

/** Objects that are rarely written by hand, so that a field is unlikely to belong to them. */
const otherFields: ReadonlySet<string> = new Set([
  'status',
  'seLinuxOptions',
  'windowsOptions',
  ...Object.keys(unmountableVolumes),
]);

/** Paths from the object with these fields to the nearest nested objects that have the field. */
function homesBelow(
  schema: ObjectSchema,
  fields: Fields,
  key: string,
  { maxDepth, withLists }: { maxDepth: number; withLists: boolean },
): string[] {
  let level: ParentObject[] = [{ path: '', fields }];
  for (let depth = 0; depth < maxDepth; depth++) {
    level = level.flatMap((parent) => childrenOf(schema, parent).filter(({ isList }) => withLists || !isList));
    const homes = level.filter((child) => child.fields.has(key));
    if (homes.length > 0) return homes.map(({ path }) => path);
  }
  return [];
}

function childrenOf(schema: ObjectSchema, parent: ParentObject): (ParentObject & { isList: boolean })[] {
  const written = [...parent.fields.keys()].filter((name) => !otherFields.has(name));
  const names = new Set([...mainFields.filter((name) => parent.fields.has(name)), ...written]);
  return [...names].flatMap((name) => {
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
