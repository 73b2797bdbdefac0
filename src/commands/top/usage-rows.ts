import type { ContainerStats, NodeStats, PodStats } from '../../engine/stats/summary.ts';

/** One line of the table before its columns are formatted. An unknown figure is undefined. */
export interface UsageRow {
  /** Namespace and names. */
  names: string[];
  /** Billionths of a core. */
  nanoCores: number | undefined;
  memoryBytes: number | undefined;
  diskBytes: number | undefined;
  processes: number | undefined;
  rxBytes: number | undefined;
  txBytes: number | undefined;
}

export type SortKey = 'cpu' | 'memory';

export function podRows(pods: readonly PodStats[], sortBy: SortKey | undefined): UsageRow[] {
  const rows = pods.map((pod): UsageRow => ({
    ...usageOf(pod),
    names: [pod.podRef.namespace, pod.podRef.name],
    diskBytes: pod['ephemeral-storage']?.usedBytes,
    processes: pod.process_stats?.process_count,
    rxBytes: pod.network?.rxBytes,
    txBytes: pod.network?.txBytes,
  }));
  return sorted(rows, sortBy);
}

export function containerRows(pods: readonly PodStats[], sortBy: SortKey | undefined): UsageRow[] {
  const rows = pods.flatMap(({ podRef, containers }) =>
    containers.map((container): UsageRow => {
      const { rootfs, logs } = container;
      return {
        ...usageOf(container),
        names: [podRef.namespace, podRef.name, container.name],
        diskBytes: rootfs?.usedBytes === undefined ? undefined : rootfs.usedBytes + (logs?.usedBytes ?? 0),
        ...{ processes: undefined, rxBytes: undefined, txBytes: undefined },
      };
    }),
  );
  return sorted(rows, sortBy);
}

function usageOf({ cpu, memory }: PodStats | ContainerStats): Pick<UsageRow, 'nanoCores' | 'memoryBytes'> {
  return { nanoCores: cpu?.usageNanoCores, memoryBytes: memory?.workingSetBytes };
}

/** Largest first. Rows without a value come last. kubectl: metricsutil/metrics_printer.go */
function sorted(rows: readonly UsageRow[], sortBy: SortKey | undefined): UsageRow[] {
  if (sortBy === undefined) return [...rows];
  const value = ({ nanoCores, memoryBytes }: UsageRow): number => (sortBy === 'cpu' ? nanoCores : memoryBytes) ?? -1;
  return rows.toSorted((a, b) => value(b) - value(a));
}

/** Names and cells of the pods' or containers' table. */
export function usageTable(
  rows: readonly UsageRow[],
  { containers, wide }: { containers: boolean; wide: boolean },
): string[][] {
  const names = containers ? ['NAMESPACE', 'POD', 'NAME'] : ['NAMESPACE', 'NAME'];
  const wideNames = containers ? ['DISK(bytes)'] : ['DISK(bytes)', 'PROCESSES', 'RX(bytes)', 'TX(bytes)'];
  return [
    [...names, 'CPU(cores)', 'MEMORY(bytes)', ...(wide ? wideNames : [])],
    ...rows.map(({ names: cells, nanoCores, memoryBytes, diskBytes, processes, rxBytes, txBytes }) => {
      const disk = mebibytes(diskBytes);
      const others = containers ? [disk] : [disk, count(processes), mebibytes(rxBytes), mebibytes(txBytes)];
      return [...cells, millicores(nanoCores), mebibytes(memoryBytes), ...(wide ? others : [])];
    }),
  ];
}

/** Names and cells of the node's table. Percentages are of the capacity. */
export function nodeTable(node: NodeStats, { cores, wide }: { cores: number; wide: boolean }): string[][] {
  const { nodeName, cpu, memory, fs, rlimit } = node;
  const nanoCores = cpu?.usageNanoCores;
  const { workingSetBytes, availableBytes } = memory ?? {};
  const capacity = workingSetBytes === undefined || availableBytes === undefined ? 0 : workingSetBytes + availableBytes;
  const wideNames = ['DISK(bytes)', 'DISK%', 'PROCESSES'];
  const wideCells = [mebibytes(fs?.usedBytes), percent(fs?.usedBytes, fs?.capacityBytes ?? 0), count(rlimit?.curproc)];
  return [
    ['NAME', 'CPU(cores)', 'CPU%', 'MEMORY(bytes)', 'MEMORY%', ...(wide ? wideNames : [])],
    [
      nodeName,
      millicores(nanoCores),
      percent(nanoCores, cores * 1e9),
      mebibytes(workingSetBytes),
      percent(workingSetBytes, capacity),
      ...(wide ? wideCells : []),
    ],
  ];
}

const unknown = '<unknown>';

/** Rounds up, as kubectl does. */
const millicores = (nanoCores: number | undefined): string =>
  nanoCores === undefined ? unknown : `${Math.ceil(nanoCores / 1e6)}m`;

const mebibytes = (bytes: number | undefined): string =>
  bytes === undefined ? unknown : `${Math.trunc(bytes / 1024 / 1024)}Mi`;

const percent = (part: number | undefined, whole: number): string =>
  part === undefined || whole === 0 ? unknown : `${Math.trunc((part * 100) / whole)}%`;

const count = (value: number | undefined): string => (value === undefined ? unknown : String(value));
