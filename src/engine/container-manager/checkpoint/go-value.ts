import type { ManifestNode } from '../../../api/text/manifest-node.ts';
import { readJson } from '../../../api/text/read-json.ts';
import { ReadingBudget } from '../../../api/text/reading-budget.ts';
import { fnv1a32 } from '../../../api/values/fnv-1a.ts';
import { listOf, mapOf, structOf } from './go-members.ts';
import type { GoField, GoStruct, GoType, GoValue } from './go-types.ts';

type StructType = GoType & { kind: 'struct' };

const maxUint64 = 2n ** 64n - 1n;
const [minInt64, maxInt64] = [-(2n ** 63n), 2n ** 63n - 1n];

/**
 * Decodes JSON as Go does: ignores unknown fields and keeps the value of `start` for missing ones. Throws an `Error` if
 * the JSON does not match the type. kubelet: encoding/json decode.go Unmarshal
 */
export function decodeGo(text: string, type: StructType, start: GoStruct): GoStruct {
  const { root } = readJson(text, new ReadingBudget());
  return root.kind === 'null' ? start : { ...start, ...decodeFields(root, type, '') };
}

/** `path` is the field path of the value, for error messages. */
function decode(node: ManifestNode, type: GoType, path: string): GoValue {
  if (node.kind === 'null') return zeroOf(type);
  switch (type.kind) {
    case 'string':
    case 'bytes':
      return node.kind === 'string' ? node.value : mismatch(node, type, path);
    case 'int':
    case 'uint64':
      return decodeInteger(node, type, path);
    case 'slice':
      if (node.kind !== 'list') return mismatch(node, type, path);
      return node.items.map((element) => decode(element, type.element, path));
    case 'map':
      if (node.kind !== 'object' || (type.key === 'int' && !node.entries.every(({ key }) => /^-?\d+$/.test(key)))) {
        return mismatch(node, type, path);
      }
      return new Map(node.entries.map(({ key, value }) => [key, decode(value, type.value, path)]));
    case 'struct':
      return { ...zeroStruct(type), ...decodeFields(node, type, path) };
  }
}

/** Go checks the literal, so it rejects `1e3` and `1.0` as integers. kubelet: strconv ParseInt, ParseUint */
function decodeInteger(node: ManifestNode, type: GoType, path: string): bigint {
  const isInteger = node.kind === 'number' && /^-?\d+$/.test(node.text);
  const number = isInteger ? BigInt(node.text) : undefined;
  const [least, most] = type.kind === 'int' ? [minInt64, maxInt64] : [0n, maxUint64];
  return number !== undefined && number >= least && number <= most ? number : mismatch(node, type, path);
}

/** If several members set a field, the last one wins. */
function decodeFields(node: ManifestNode, type: StructType, path: string): GoStruct {
  if (node.kind !== 'object') return mismatch(node, type, path);
  const members = node.entries.flatMap(({ key, value }) => {
    const field = fieldOf(type, key);
    // Null sets only maps, lists and pointers to nil.
    if (field === undefined || (value.kind === 'null' && zeroOf(field.type) !== undefined)) return [];
    return [[field.name, decode(value, field.type, `${path}.${field.json}`)] as const];
  });
  return Object.fromEntries(members);
}

/** The field with this name, or else with the same name in different case. kubelet: encoding/json decode.go object */
function fieldOf({ fields }: StructType, key: string): GoField | undefined {
  const folded = key.toLowerCase();
  return fields.find(({ json }) => json === key) ?? fields.find(({ json }) => json.toLowerCase() === folded);
}

function mismatch(node: ManifestNode, type: GoType, path: string): never {
  const found = node.kind === 'number' ? `the number ${node.text}` : node.kind;
  throw new Error(`${path === '' ? 'the file' : path} has no value of type ${type.kind} but ${found}`);
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

/** Encodes a value as Go writes it in JSON. kubelet: encoding/json encode.go Marshal */
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

/** Go also escapes these characters, so that the JSON is safe inside HTML. */
function encodeText(text: string): string {
  const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replaceAll(/[<>&\u2028\u2029]/g, escape);
}

/**
 * Computes the checksum of a checkpoint. `unsigned` is the value that the kubelet hashes. kubelet: checksum/checksum.go
 * New
 */
export function checksumOf(unsigned: GoStruct, type: StructType): bigint {
  return BigInt(fnv1a32(dumpGo(unsigned, type)));
}

/**
 * Prints a value in the form that the kubelet hashes for checksums. kubelet: util/hash/hash.go DeepHashObject, go-spew
 * format.go with `%#v`
 */
function dumpGo(value: GoValue, type: GoType): string {
  return `(${typeName(type)})${dump(value, type)}`;
}

function typeName(type: GoType): string {
  return type.kind === 'struct' && type.isPointer ? `*${type.name}` : type.name;
}

/** Only struct fields print their types. */
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
