import { fnv1a32 } from '../../../api/values/fnv-1a.ts';
import { goJSONError } from '../checkpoint/go-json-error.ts';
import { MalformedCheckpoint } from '../checkpoint/malformed-checkpoint.ts';
import type { ContainerRef } from './cpu-containers.ts';

/** CPUs as text by pod UID and name of the container. */
export type Entries = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Content of `cpu_manager_state`. kubelet: cpumanager/state/checkpoint.go CPUManagerCheckpoint */
export interface CPUCheckpoint {
  policyName: string;
  defaultCPUSet: string;
  entries: Entries;
}

/** Finds a container that the runtime had at the start. */
export type FindContainer = (containerID: string) => ContainerRef | undefined;

/** The file's text, with its checksum. */
export function formatCheckpoint({ policyName, defaultCPUSet, entries }: CPUCheckpoint): string {
  const plain = Object.fromEntries(inOrder(entries).map(([uid, ofPod]) => [uid, Object.fromEntries(inOrder(ofPod))]));
  return JSON.stringify({
    policyName,
    defaultCpuSet: defaultCPUSet,
    ...(entries.size > 0 && { entries: plain }),
    checksum: checksumOf({ policyName, defaultCPUSet, entries: dumpOfPods(entries) }),
  });
}

/**
 * Reads the file, also in the format before Kubernetes 1.18, which has ids of containers. A checksum of 0 is not
 * compared. Throws a `MalformedCheckpoint` with the kubelet's message. kubelet: cpumanager/state/state_checkpoint.go
 * restoreState
 */
export function parseCheckpoint(text: string, findContainer: FindContainer): CPUCheckpoint {
  const syntaxError = goJSONError(text);
  if (syntaxError !== undefined) throw new MalformedCheckpoint(syntaxError);
  const json: unknown = JSON.parse(text);
  return checkpointByID(json, findContainer) ?? checkpointByPod(json);
}

/** Returns undefined if the file is not in the old format. */
function checkpointByID(json: unknown, findContainer: FindContainer): CPUCheckpoint | undefined {
  let fields: Fields<Dictionary<string>>;
  try {
    fields = fieldsOf(json, (entries) => dictionaryOf(entries, 'map[string]string', textOf));
    verify(fields, `(map[string]string)${dumpOf(fields.entries, (cpus) => cpus)}`);
  } catch {
    return undefined;
  }
  const entries = new Map<string, Map<string, string>>();
  for (const [id, cpus] of fields.entries ?? []) {
    const container = findContainer(id);
    if (container === undefined) {
      throw new MalformedCheckpoint(
        `error migrating v1 checkpoint state to v2 checkpoint state: containerID '${id}' not found in initial containers list`,
      );
    }
    const ofPod = entries.get(container.podUID) ?? new Map<string, string>();
    entries.set(container.podUID, ofPod.set(container.containerName, cpus));
  }
  return { ...fields, entries };
}

function checkpointByPod(json: unknown): CPUCheckpoint {
  const fields = fieldsOf(json, (entries) =>
    dictionaryOf(entries, 'map[string]map[string]string', (ofPod) => dictionaryOf(ofPod, 'map[string]string', textOf)),
  );
  verify(fields, dumpOfPods(fields.entries));
  const entries = [...(fields.entries ?? [])].map(([uid, ofPod]) => [uid, ofPod ?? new Map<string, string>()] as const);
  return { ...fields, entries: new Map(entries) };
}

/** A map of Go. Undefined: nil. */
type Dictionary<Value> = ReadonlyMap<string, Value> | undefined;

interface Fields<E> {
  policyName: string;
  defaultCPUSet: string;
  entries: E;
  checksum: number;
}

function verify(fields: Fields<unknown>, entries: string): void {
  const { checksum, ...others } = fields;
  if (checksum !== 0 && checksum !== checksumOf({ ...others, entries }))
    throw new MalformedCheckpoint('checkpoint is corrupted');
}

/** Go finds fields in any case of their letters. */
function fieldsOf<Value>(json: unknown, readEntries: (value: unknown) => Dictionary<Value>): Fields<Dictionary<Value>> {
  const fields: Fields<Dictionary<Value>> = { policyName: '', defaultCPUSet: '', entries: new Map(), checksum: 0 };
  if (json !== null && !isObject(json)) throw mismatch(json, `value of type ${typeName}`);
  for (const [name, value] of Object.entries(json ?? {})) {
    switch (name.toLowerCase()) {
      case 'policyname':
        fields.policyName = textOf(value, 'policyName');
        break;
      case 'defaultcpuset':
        fields.defaultCPUSet = textOf(value, 'defaultCpuSet');
        break;
      case 'entries':
        fields.entries = readEntries(value);
        break;
      case 'checksum':
        fields.checksum = checksumField(value);
        break;
    }
  }
  return fields;
}

function textOf(value: unknown, field = 'entries'): string {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  throw mismatch(value, fieldOfType(field, 'string'));
}

function checksumField(value: unknown): number {
  if (value === null) return 0;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw mismatch(value, fieldOfType('checksum', 'checksum.Checksum'), typeof value === 'number' ? ` ${value}` : '');
}

function dictionaryOf<Value>(value: unknown, type: string, read: (value: unknown) => Value): Dictionary<Value> {
  if (value === null) return undefined;
  if (!isObject(value)) throw mismatch(value, fieldOfType('entries', type));
  return new Map(Object.entries(value).map(([key, member]) => [key, read(member)]));
}

const typeName = 'state.CPUManagerCheckpoint';
const fieldOfType = (field: string, type: string): string =>
  `struct field CPUManagerCheckpoint.${field} of type ${type}`;

function mismatch(value: unknown, into: string, literal = ''): Error {
  const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  return new MalformedCheckpoint(`json: cannot unmarshal ${kind}${literal} into Go ${into}`);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** kubelet: checkpointmanager/checksum/checksum.go New; k8s.io/apimachinery dump.ForHash */
function checksumOf(fields: { policyName: string; defaultCPUSet: string; entries: string }): number {
  const { policyName, defaultCPUSet, entries } = fields;
  const members = [
    `PolicyName:(string)${policyName}`,
    `DefaultCPUSet:(string)${defaultCPUSet}`,
    `Entries:${entries}`,
    'Checksum:(checksum.Checksum)0',
  ];
  return fnv1a32(`(*${typeName}){${members.join(' ')}}`);
}

function dumpOfPods(entries: Dictionary<Dictionary<string>>): string {
  return `(map[string]map[string]string)${dumpOf(entries, (ofPod) => dumpOf(ofPod, (cpus) => cpus))}`;
}

/** A map as Go prints it for a hash. */
function dumpOf<Value>(dictionary: Dictionary<Value>, dump: (value: Value) => string): string {
  if (dictionary === undefined) return '<nil>';
  return `map[${inOrder(dictionary)
    .map(([key, value]) => `${key}:${dump(value)}`)
    .join(' ')}]`;
}

function inOrder<Value>(dictionary: ReadonlyMap<string, Value>): [string, Value][] {
  return [...dictionary].sort(([a], [b]) => (a < b ? -1 : 1));
}
