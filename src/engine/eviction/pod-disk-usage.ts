import type { Pod, Volume } from '../../api/types.ts';
import type { UsagePart } from './disk-layout.ts';
import type { FsStats, PodUsage } from './node-summary.ts';

/** What a pod has on disk of these parts. kubelet: eviction/helpers.go podDiskUsage */
export function podDiskUsage(
  { containers, volume = [] }: PodUsage,
  { spec }: Pod,
  parts: readonly UsagePart[],
): { bytes: number; inodes: number } {
  const local = new Set((spec.volumes ?? []).filter(isLocal).map(({ name }) => name));
  const stats = [
    ...(parts.includes('rootfs') ? containers.map(({ rootfs }) => rootfs) : []),
    ...(parts.includes('logs') ? containers.map(({ logs }) => logs) : []),
    ...(parts.includes('volumes') ? volume.filter(({ name }) => local.has(name)) : []),
  ].filter((fs): fs is FsStats => fs !== undefined);
  return {
    bytes: stats.reduce((sum, { usedBytes = 0 }) => sum + usedBytes, 0),
    inodes: stats.reduce((sum, { inodesUsed = 0 }) => sum + inodesUsed, 0),
  };
}

/** kubelet: eviction/helpers.go localVolumeNames */
function isLocal({ hostPath, emptyDir, configMap, gitRepo }: Volume): boolean {
  return Boolean(hostPath ?? configMap ?? gitRepo) || (emptyDir !== undefined && emptyDir.medium !== 'Memory');
}
