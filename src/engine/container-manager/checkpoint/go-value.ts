import { goJSONError } from './go-json-error.ts';

/** A type of Go, as far as checkpoints have them. `name` is printed by Go, such as `v1.ResourceName`. */
export type GoType =
  | { readonly kind: 'string' | 'int' | 'uint64'; readonly name: string }
  /** As base64 in JSON and in a `GoValue`. */
  | { readonly kind: 'bytes'; readonly name: string }
  | { readonly kind: 'map'; readonly name: string; readonly key: 'string' | 'int'; readonly value: GoType }
  | { readonly kind: 'slice'; readonly name: string; readonly element: GoType }
  | { readonly kind: 'struct'; readonly name: string; readonly fields: readonly GoField[]; readonly isPointer?: true };

export interface GoField {
  readonly name: string;
  readonly json: string;
  readonly type: GoType;
  /** True: left out of JSON if empty. */
  readonly omitEmpty?: true;
}

/** A value of a `GoType`: text, number, map, list or fields by their names. Undefined is nil. */
export type GoValue = string | bigint | Map<string, GoValue> | readonly GoValue[] | GoStruct | undefined;
export interface GoStruct {
  readonly [name: string]: GoValue;
}

type StructType = GoType & { kind: 'struct' };

/** Where a value is, for messages: the innermost struct, and the names of the fields to it. */
interface Place {
  readonly struct: string | undefined;
  readonly path: readonly string[];
}

/**
 * Reads JSON as Go does: unknown fields are ignored, missing ones keep the value of `start`. Throws an
 * `Error` with Go's message. kubelet: encoding/json decode.go Unmarshal
 */
export function decodeGo(text: string, type: StructType, start: GoStruct): GoStruct {
  const problem = goJSONError(text);
  if (problem !== undefined) throw new Error(problem);
  const value: unknown = JSON.parse(text);
  if (value === null) return start;
  return { ...start, ...decodeFields(value, type, { struct: undefined, path: [] }) };
}

function decode(value: unknown, type: GoType, place: Place): GoValue {
  if (value === null) return zeroOf(type);
  switch (type.kind) {
    case 'string':
    case 'bytes':
      return typeof value === 'string' ? value : mismatch(value, type, place);
    case 'int':
    case 'uint64':
      return decodeInteger(value, type, place);
    case 'slice':
      if (!Array.isArray(value)) return mismatch(value, type, place);
      return value.map((element) => decode(element, type.element, place));
    case 'map':
      return decodeMap(value, type, place);
    case 'struct':
      return { ...zeroStruct(type), ...decodeFields(value, type, place) };
  }
}

function decodeInteger(value: unknown, type: GoType, place: Place): bigint {
  if (typeof value !== 'number') return mismatch(value, type, place);
  const fits = Number.isInteger(value) && (type.kind === 'int' || value >= 0);
  return fits ? BigInt(value) : mismatch(value, type, place, `number ${value}`);
}

function decodeMap(value: unknown, type: GoType & { kind: 'map' }, place: Place): GoValue {
  if (!isObject(value)) return mismatch(value, type, place);
  return new Map(
    Object.entries(value).map(([key, member]) => {
      if (type.key === 'int' && !/^-?\d+$/.test(key)) {
        return mismatch(key, { kind: 'int', name: 'int' }, place, `number ${key}`);
      }
      return [key, decode(member, type.value, place)];
    }),
  );
}

function decodeFields(value: unknown, type: StructType, { path }: Place): GoStruct {
  if (!isObject(value)) return mismatch(value, type, { struct: undefined, path });
  const struct = type.name.slice(type.name.indexOf('.') + 1);
  const members = type.fields.flatMap(({ name, json, type: fieldType }) => {
    const member = value[json];
    // Null sets only maps, lists and pointers to nil.
    if (member === undefined || (member === null && zeroOf(fieldType) !== undefined)) return [];
    return [[name, decode(member, fieldType, { struct, path: [...path, json] })] as const];
  });
  return Object.fromEntries(members);
}

function mismatch(value: unknown, type: GoType, { struct, path }: Place, kind = kindOf(value)): never {
  const target =
    struct === undefined
      ? `Go value of type ${type.name}`
      : `Go struct field ${struct}.${path.join('.')} of type ${type.name}`;
  throw new Error(`json: cannot unmarshal ${kind} into ${target}`);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function zeroOf(type: GoType): GoValue {
  switch (type.kind) {
    case 'string':
    case 'bytes':
      return '';
    case 'int':
    case 'uint64':
      return 0n;
    case 'map':
    case 'slice':
      return undefined;
    case 'struct':
      return type.isPointer ? undefined : zeroStruct(type);
  }
}

function zeroStruct({ fields }: StructType): GoStruct {
  return Object.fromEntries(fields.map(({ name, type }) => [name, zeroOf(type)]));
}

/** A value as Go writes it in JSON. kubelet: encoding/json encode.go Marshal */
export function encodeGo(value: GoValue, type: GoType): string {
  if (value === undefined) return 'null';
  switch (type.kind) {
    case 'string':
    case 'bytes':
    case 'int':
    case 'uint64':
      return typeof value === 'string' ? encodeText(value) : plainText(value);
    case 'slice':
      return `[${listOf(value)
        .map((element) => encodeGo(element, type.element))
        .join(',')}]`;
    case 'map': {
      const members = [...mapOf(value)].sort(([a], [b]) => (a < b ? -1 : 1));
      return `{${members.map(([key, member]) => `${encodeText(key)}:${encodeGo(member, type.value)}`).join(',')}}`;
    }
    case 'struct': {
      const members = fieldsOf(value, type).filter(([field, member]) => field.omitEmpty !== true || !isEmpty(member));
      return `{${members.map(([field, member]) => `"${field.json}":${encodeGo(member, field.type)}`).join(',')}}`;
    }
  }
}

/** Go escapes these too, so that the text may stand in HTML. */
function encodeText(text: string): string {
  const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replaceAll(/[<>&\u2028\u2029]/g, escape);
}

/**
 * A value as the checksums of checkpoints take it. kubelet: util/hash/hash.go DeepHashObject, go-spew format.go with
 * `%#v`
 */
export function dumpGo(value: GoValue, type: GoType): string {
  return `(${typeName(type)})${dump(value, type)}`;
}

function typeName(type: GoType): string {
  return type.kind === 'struct' && type.isPointer ? `*${type.name}` : type.name;
}

/** Only fields print their types. */
function dump(value: GoValue, type: GoType): string {
  if (value === undefined) return '<nil>';
  switch (type.kind) {
    case 'string':
    case 'int':
    case 'uint64':
      return plainText(value);
    case 'bytes':
      return `[${[...Buffer.from(plainText(value), 'base64')].join(' ')}]`;
    case 'slice':
      return `[${listOf(value)
        .map((element) => dumpInside(element, type.element))
        .join(' ')}]`;
    case 'map': {
      const isBefore =
        type.key === 'int' ? (a: string, b: string) => Number(a) < Number(b) : (a: string, b: string) => a < b;
      const members = [...mapOf(value)].sort(([a], [b]) => (isBefore(a, b) ? -1 : 1));
      return `map[${members.map(([key, member]) => `${key}:${dumpInside(member, type.value)}`).join(' ')}]`;
    }
    case 'struct':
      return `{${fieldsOf(value, type)
        .map(([field, member]) => `${field.name}:${dumpGo(member, field.type)}`)
        .join(' ')}}`;
  }
}

function dumpInside(value: GoValue, type: GoType): string {
  return type.kind === 'struct' && type.isPointer ? `<*>${dump(value, type)}` : dump(value, type);
}

function isEmpty(value: GoValue): boolean {
  return value === undefined || (value instanceof Map && value.size === 0);
}

function plainText(value: GoValue): string {
  return typeof value === 'string' || typeof value === 'bigint' ? String(value) : '';
}

function listOf(value: GoValue): readonly GoValue[] {
  return Array.isArray(value) ? (value as readonly GoValue[]) : [];
}

function mapOf(value: GoValue): ReadonlyMap<string, GoValue> {
  return value instanceof Map ? value : new Map<string, GoValue>();
}

function fieldsOf(value: GoValue, { fields }: StructType): [GoField, GoValue][] {
  const struct =
    typeof value === 'object' && !(value instanceof Map) && !Array.isArray(value) ? (value as GoStruct) : {};
  return fields.map((field) => [field, struct[field.name]]);
}
