import type { CSINode } from '../../plugins/types.ts';

type Answer = Awaited<ReturnType<CSINode['nodeGetVolumeStats']>>;

/** Usage of a volume. A figure that the driver does not report, or that cannot be true, is absent. */
export interface CSIUsage {
  availableBytes?: number;
  capacityBytes?: number;
  usedBytes?: number;
  inodesFree?: number;
  inodes?: number;
  inodesUsed?: number;
}

/** Returns undefined if the driver reported nothing. kubelet: pkg/volume/csi/csi_client.go NodeGetVolumeStats */
export function csiUsage({ usage }: Answer): CSIUsage | undefined {
  const figures = usage.flatMap(({ unit, available, total, used }): [keyof CSIUsage, number][] => {
    if (unit === 'BYTES') return counted(['availableBytes', available], ['capacityBytes', total], ['usedBytes', used]);
    if (unit === 'INODES') return counted(['inodesFree', available], ['inodes', total], ['inodesUsed', used]);
    return [];
  });
  return figures.length === 0 ? undefined : Object.fromEntries(figures);
}

const counted = (...figures: [keyof CSIUsage, bigint][]): [keyof CSIUsage, number][] =>
  figures.flatMap(([name, value]) => (value < 0n ? [] : [[name, Number(value)]]));
