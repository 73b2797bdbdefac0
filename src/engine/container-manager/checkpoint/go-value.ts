import { fnv1a32 } from '../../../api/values/fnv-1a.ts';
import { type GoJSON, Members, NumberLiteral, readGoJSON } from './go-json.ts';
import { goJSONError } from './go-json-error.ts';
import { listOf, mapOf, structOf } from './go-members.ts';
import type { GoField, GoStruct, GoType, GoValue } from './go-types.ts';

type StructType = GoType & { kind: 'struct' };

const maxUint64 = 2n ** 64n - 1n;
const [minInt64, maxInt64] = [-(2n ** 63n), 2n ** 63n - 1n];

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
  const value = readGoJSON(text);
  if (value === null) return start;
  return { ...start, ...decodeFields(value, type, { struct: undefined, path: [] }) };
}

function decode(value: GoJSON, type: GoType, place: Place): GoValue {
  if (value === null) return zeroOf(type);
  switch (type.kind) {
    case 'string':
    case 'bytes':
      return typeof value === 'string' ? value : mismatch(value, type, place);
    case 'int':
    case 'uint64':
      return decodeInteger(value, type, place);
    case 'slice':
      if (!isList(value)) return mismatch(value, type, place);
      return value.map((element) => decode(element, type.element, place));
    case 'map':
      return decodeMap(value, type, place);
    case 'struct':
      return { ...zeroStruct(type), ...decodeFields(value, type, place) };
  }
}

/** Go reads the literal, so `1e3` and `1.0` are no integers. kubelet: strconv ParseInt, ParseUint */
function decodeInteger(value: GoJSON, type: GoType, place: Place): bigint {
  if (!(value instanceof NumberLiteral)) return mismatch(value, type, place);
  const isInteger = (type.kind === 'int' ? /^-?\d+$/ : /^\d+$/).test(value.text);
  const number = isInteger ? BigInt(value.text) : undefined;
  const [least, most] = type.kind === 'int' ? [minInt64, maxInt64] : [0n, maxUint64];
  if (number !== undefined && number >= least && number <= most) return number;
  return mismatch(value, type, place, `number ${value.text}`);
}

function decodeMap(value: GoJSON, type: GoType & { kind: 'map' }, place: Place): GoValue {
  if (!(value instanceof Members)) return mismatch(value, type, place);
  return new Map(
    value.list.map(([key, member]) => {
      if (type.key === 'int' && !/^-?\d+$/.test(key)) {
        return mismatch(key, { kind: 'int', name: 'int' }, place, `number ${key}`);
      }
      return [key, decode(member, type.value, place)];
    }),
  );
}

/** The last of several members for a field counts. */
function decodeFields(value: GoJSON, type: StructType, { path }: Place): GoStruct {
  if (!(value instanceof Members)) return mismatch(value, type, { struct: undefined, path });
  const struct = type.name.slice(type.name.indexOf('.') + 1);
  const members = value.list.flatMap(([key, member]) => {
    const field = fieldOf(type, key);
    // Null sets only maps, lists and pointers to nil.
    if (field === undefined || (member === null && zeroOf(field.type) !== undefined)) return [];
    return [[field.name, decode(member, field.type, { struct, path: [...path, field.json] })] as const];
  });
  return Object.fromEntries(members);
}

/** The field of this name, else of the same name in other capitals. kubelet: encoding/json decode.go object */
function fieldOf({ fields }: StructType, key: string): GoField | undefined {
  const folded = key.toLowerCase();
  return fields.find(({ json }) => json === key) ?? fields.find(({ json }) => json.toLowerCase() === folded);
}

function mismatch(value: GoJSON, type: GoType, { struct, path }: Place, kind = kindOf(value)): never {
  const target =
    struct === undefined
      ? `Go value of type ${type.name}`
      : `Go struct field ${struct}.${path.join('.')} of type ${type.name}`;
  throw new Error(`json: cannot unmarshal ${kind} into ${target}`);
}

function kindOf(value: GoJSON): string {
  if (isList(value)) return 'array';
  if (value instanceof NumberLiteral) return 'number';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function isList(value: GoJSON): value is readonly GoJSON[] {
  return Array.isArray(value);
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

/** The checksum of a checkpoint. `unsigned` is the part that the kubelet hashes. kubelet: checksum/checksum.go New */
export function checksumOf(unsigned: GoStruct, type: StructType): bigint {
  return BigInt(fnv1a32(dumpGo(unsigned, type)));
}

/**
 * A value as the checksums of checkpoints take it. kubelet: util/hash/hash.go DeepHashObject, go-spew format.go with
 * `%#v`
 */
function dumpGo(value: GoValue, type: GoType): string {
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

function fieldsOf(value: GoValue, { fields }: StructType): [GoField, GoValue][] {
  const struct = structOf(value);
  return fields.map((field) => [field, struct[field.name]]);
}
