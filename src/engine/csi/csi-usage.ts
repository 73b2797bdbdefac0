import type { CSINode } from '../../plugins/types.ts';
import type { FsUsage } from '../host/fs-usage.ts';

type Answer = Awaited<ReturnType<CSINode['nodeGetVolumeStats']>>;

/**
 * Usage of a volume. A figure that cannot be true is absent. Returns undefined if the driver reported nothing. kubelet:
 * pkg/volume/csi/csi_client.go NodeGetVolumeStats
 */
export function csiUsage({ usage }: Answer): FsUsage | undefined {
  const figures = usage.flatMap(({ unit, available, total, used }): [keyof FsUsage, number][] => {
    if (unit === 'BYTES') return counted(['availableBytes', available], ['capacityBytes', total], ['usedBytes', used]);
    if (unit === 'INODES') return counted(['inodesFree', available], ['inodes', total], ['inodesUsed', used]);
    return [];
  });
  return figures.length === 0 ? undefined : Object.fromEntries(figures);
}

const counted = (...figures: [keyof FsUsage, bigint][]): [keyof FsUsage, number][] =>
  figures.flatMap(([name, value]) => (value < 0n ? [] : [[name, Number(value)]]));
