/** Work of a block device since it was created. */
export interface DiskCounters {
  /** Major and minor number, such as `8:0`. */
  number: string;
  name: string;
  reads: number;
  readsMerged: number;
  sectorsRead: number;
  readSeconds: number;
  writes: number;
  writesMerged: number;
  sectorsWritten: number;
  writeSeconds: number;
  inProgress: number;
  ioSeconds: number;
  weightedSeconds: number;
}

/** How many block devices are reported. */
const maxDisks = 256;

/** Parses the block devices in /proc/diskstats that were ever used. kubelet: cadvisor fs/fs.go getDiskStatsMap */
export function diskCounters(text: string): DiskCounters[] {
  return text
    .split('\n', maxDisks)
    .flatMap((line): DiskCounters[] => {
      const [major, minor, name = '', ...counters] = line.trim().split(/\s+/);
      const [reads = 0, readsMerged = 0, sectorsRead = 0, readMs = 0, ...rest] = counters.map(Number);
      const [writes = 0, writesMerged = 0, sectorsWritten = 0, writeMs = 0, inProgress = 0, ioMs, weightedMs] = rest;
      if (ioMs === undefined || weightedMs === undefined || !counters.every((counter) => /^\d+$/.test(counter)))
        return [];
      return [
        {
          ...{ number: `${major}:${minor}`, name },
          ...{ reads, readsMerged, sectorsRead, readSeconds: readMs / 1000 },
          ...{ writes, writesMerged, sectorsWritten, writeSeconds: writeMs / 1000 },
          ...{ inProgress, ioSeconds: ioMs / 1000, weightedSeconds: weightedMs / 1000 },
        },
      ];
    })
    .filter(({ reads, writes }) => reads + writes > 0);
}
