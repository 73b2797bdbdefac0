import { mapOf, textOf } from '../checkpoint/go-members.ts';
import type { GoStruct, GoType, GoValue } from '../checkpoint/go-types.ts';
import { checksumOf, decodeGo, encodeGo } from '../checkpoint/go-value.ts';
import type { ContainerRef } from './cpu-containers.ts';

/** CPU lists by pod UID and container name. */
type Entries = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Content of `cpu_manager_state`. kubelet: cpumanager/state/checkpoint.go CPUManagerCheckpoint */
export interface CPUCheckpoint {
  policyName: string;
  defaultCPUSet: string;
  entries: Entries;
}

/** Finds a container that existed in the runtime when the agent started. */
export type FindContainer = (containerID: string) => ContainerRef | undefined;

const text = { kind: 'string', name: 'string' } as const;
const texts = { kind: 'map', name: 'map[string]string', key: 'string', value: text } as const;
const textsByPod = { kind: 'map', name: 'map[string]map[string]string', key: 'string', value: texts } as const;

/** The old format differs only in its entries. Both have the same type name, which the checksum includes. */
function checkpointOf(entries: GoType) {
  return {
    kind: 'struct',
    name: 'state.CPUManagerCheckpoint',
    isPointer: true,
    fields: [
      { name: 'PolicyName', json: 'policyName', type: text },
      { name: 'DefaultCPUSet', json: 'defaultCpuSet', type: text },
      { name: 'Entries', json: 'entries', omitEmpty: true, type: entries },
      { name: 'Checksum', json: 'checksum', type: { kind: 'uint64', name: 'checksum.Checksum' } },
    ],
  } as const satisfies GoType;
}

const byID = checkpointOf(texts);
const byPod = checkpointOf(textsByPod);

/** Returns the content of the file with its checksum. */
export function formatCPUCheckpoint({ policyName, defaultCPUSet, entries }: CPUCheckpoint): string {
  const unsigned = {
    PolicyName: policyName,
    DefaultCPUSet: defaultCPUSet,
    Entries: new Map([...entries].map(([uid, ofPod]) => [uid, new Map(ofPod)])),
    Checksum: 0n,
  };
  return encodeGo({ ...unsigned, Checksum: checksumOf(unsigned, byPod) }, byPod);
}

/**
 * Parses the file, including the format before Kubernetes 1.18, which contains container ids. Does not check a checksum
 * of 0. Throws an `Error` with the kubelet's message. kubelet: cpumanager/state/state_checkpoint.go restoreState
 */
export function parseCPUCheckpoint(content: string, findContainer: FindContainer): CPUCheckpoint {
  const old = readOld(content);
  const read = old ?? readAs(content, byPod);
  return {
    policyName: textOf(read['PolicyName']),
    defaultCPUSet: textOf(read['DefaultCPUSet']),
    entries: old === undefined ? entriesByPod(read['Entries']) : entriesByID(old['Entries'], findContainer),
  };
}

/** Returns undefined if the file is not in the old format. */
function readOld(content: string): GoStruct | undefined {
  try {
    return readAs(content, byID);
  } catch {
    return undefined;
  }
}

function readAs(content: string, type: ReturnType<typeof checkpointOf>): GoStruct {
  const read = decodeGo(content, type, { PolicyName: '', DefaultCPUSet: '', Entries: new Map(), Checksum: 0n });
  if (read['Checksum'] === 0n || read['Checksum'] === checksumOf({ ...read, Checksum: 0n }, type)) return read;
  throw new Error('checkpoint is corrupted');
}

function entriesByPod(value: GoValue): Entries {
  return new Map([...mapOf(value)].map(([uid, ofPod]) => [uid, textsOf(ofPod)]));
}

function entriesByID(value: GoValue, findContainer: FindContainer): Entries {
  const entries = new Map<string, Map<string, string>>();
  for (const [id, cpus] of textsOf(value)) {
    const container = findContainer(id);
    if (container === undefined) {
      const problem = `containerID '${id}' not found in initial containers list`;
      throw new Error(`error migrating v1 checkpoint state to v2 checkpoint state: ${problem}`);
    }
    const ofPod = entries.get(container.podUID) ?? new Map<string, string>();
    entries.set(container.podUID, ofPod.set(container.containerName, cpus));
  }
  return entries;
}

function textsOf(value: GoValue): Map<string, string> {
  return new Map([...mapOf(value)].map(([key, member]) => [key, textOf(member)]));
}
