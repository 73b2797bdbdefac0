import { listOf, mapOf, structOf, textOf } from '../checkpoint/go-members.ts';
import type { GoStruct, GoType, GoValue } from '../checkpoint/go-types.ts';
import { checksumOf, decodeGo, encodeGo } from '../checkpoint/go-value.ts';
import type {
  MachineMemory,
  MemoryAssignments,
  MemoryBlock,
  MemoryState,
  MemoryTable,
  NodeMemory,
} from './memory-state.ts';

/** Types of the state file. kubelet: memorymanager/state/checkpoint.go, state.go */
const integers = { kind: 'slice', name: '[]int', element: { kind: 'int', name: 'int' } } as const;
const resourceName = { kind: 'string', name: 'v1.ResourceName' } as const;
const size = { kind: 'uint64', name: 'uint64' } as const;
const table = {
  kind: 'struct',
  name: 'state.MemoryTable',
  isPointer: true,
  fields: [
    { name: 'TotalMemSize', json: 'total', type: size },
    { name: 'SystemReserved', json: 'systemReserved', type: size },
    { name: 'Allocatable', json: 'allocatable', type: size },
    { name: 'Reserved', json: 'reserved', type: size },
    { name: 'Free', json: 'free', type: size },
  ],
} as const;
const node = {
  kind: 'struct',
  name: 'state.NUMANodeState',
  isPointer: true,
  fields: [
    { name: 'NumberOfAssignments', json: 'numberOfAssignments', type: { kind: 'int', name: 'int' } },
    {
      name: 'MemoryMap',
      json: 'memoryMap',
      type: { kind: 'map', name: 'map[v1.ResourceName]*state.MemoryTable', key: 'string', value: table },
    },
    { name: 'Cells', json: 'cells', type: integers },
  ],
} as const;
const block = {
  kind: 'struct',
  name: 'state.Block',
  fields: [
    { name: 'NUMAAffinity', json: 'numaAffinity', type: integers },
    { name: 'Type', json: 'type', type: resourceName },
    { name: 'Size', json: 'size', type: size },
  ],
} as const;
const blocks = { kind: 'slice', name: '[]state.Block', element: block } as const;
const checkpoint = {
  kind: 'struct',
  name: 'state.MemoryManagerCheckpoint',
  isPointer: true,
  fields: [
    { name: 'PolicyName', json: 'policyName', type: { kind: 'string', name: 'string' } },
    {
      name: 'MachineState',
      json: 'machineState',
      type: { kind: 'map', name: 'state.NUMANodeMap', key: 'int', value: node },
    },
    {
      name: 'Entries',
      json: 'entries',
      omitEmpty: true,
      type: {
        kind: 'map',
        name: 'state.ContainerMemoryAssignments',
        key: 'string',
        value: { kind: 'map', name: 'map[string][]state.Block', key: 'string', value: blocks },
      },
    },
    { name: 'Checksum', json: 'checksum', type: { kind: 'uint64', name: 'checksum.Checksum' } },
  ],
} as const satisfies GoType;

/** Content of memory_manager_state. kubelet: memorymanager/state/checkpoint.go MarshalCheckpoint */
export function formatMemoryCheckpoint(policyName: string, { machine, assignments }: MemoryState): string {
  const unsigned = {
    PolicyName: policyName,
    MachineState: new Map([...machine].map(([id, state]) => [String(id), nodeStruct(state)])),
    Entries: new Map([...assignments].map(([uid, ofPod]) => [uid, mapValues(ofPod, blockStructs)])),
    Checksum: 0n,
  };
  return encodeGo({ ...unsigned, Checksum: checksumOf(unsigned, checkpoint) }, checkpoint);
}

/**
 * Parses memory_manager_state. Throws an `Error` if it is damaged or written by another policy. kubelet:
 * memorymanager/state/state_checkpoint.go restoreState
 */
export function parseMemoryCheckpoint(content: string, policyName: string): MemoryState {
  const start = { PolicyName: '', MachineState: new Map(), Entries: new Map(), Checksum: 0n };
  const read = decodeGo(content, checkpoint, start);
  if (read['Checksum'] !== checksumOf({ ...read, Checksum: 0n }, checkpoint))
    throw new Error('checkpoint is corrupted');
  if (read['PolicyName'] !== policyName) {
    const found = JSON.stringify(read['PolicyName']);
    throw new Error(`[memorymanager] configured policy "${policyName}" differs from state checkpoint policy ${found}`);
  }
  return { machine: machineOf(read['MachineState']), assignments: assignmentsOf(read['Entries']) };
}

function nodeStruct({ numberOfAssignments, memoryMap, cells }: NodeMemory): GoStruct {
  return {
    NumberOfAssignments: BigInt(numberOfAssignments),
    MemoryMap: mapValues(memoryMap, ({ total, systemReserved, allocatable, reserved, free }) => ({
      TotalMemSize: total,
      SystemReserved: systemReserved,
      Allocatable: allocatable,
      Reserved: reserved,
      Free: free,
    })),
    Cells: cells.map(BigInt),
  };
}

function blockStructs(list: readonly MemoryBlock[]): GoStruct[] {
  return list.map(({ numaAffinity, type, size: bytes }) => ({
    NUMAAffinity: numaAffinity.map(BigInt),
    Type: type,
    Size: bytes,
  }));
}

function machineOf(value: GoValue): MachineMemory {
  return new Map(
    [...mapOf(value)].map(([id, state]) => {
      const { NumberOfAssignments, MemoryMap, Cells } = structOf(state);
      const memoryMap = mapValues(mapOf(MemoryMap), tableOf);
      return [Number(id), { numberOfAssignments: Number(NumberOfAssignments), memoryMap, cells: numbersOf(Cells) }];
    }),
  );
}

function tableOf(value: GoValue): MemoryTable {
  const { TotalMemSize, SystemReserved, Allocatable, Reserved, Free } = structOf(value);
  return {
    total: amountOf(TotalMemSize),
    systemReserved: amountOf(SystemReserved),
    allocatable: amountOf(Allocatable),
    reserved: amountOf(Reserved),
    free: amountOf(Free),
  };
}

function assignmentsOf(value: GoValue): MemoryAssignments {
  return mapValues(mapOf(value), (ofPod) =>
    mapValues(mapOf(ofPod), (list) =>
      listOf(list).map((element) => {
        const { NUMAAffinity, Type, Size } = structOf(element);
        return { numaAffinity: numbersOf(NUMAAffinity), type: textOf(Type), size: amountOf(Size) };
      }),
    ),
  );
}

function mapValues<From, To>(map: ReadonlyMap<string, From>, change: (value: From) => To): Map<string, To> {
  return new Map([...map].map(([key, value]) => [key, change(value)]));
}

function amountOf(value: GoValue): bigint {
  return typeof value === 'bigint' ? value : 0n;
}

function numbersOf(value: GoValue): number[] {
  return listOf(value).map(Number);
}
