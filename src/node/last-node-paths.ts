import { join } from 'node:path';
import { readRecordFile, writeRecordFile } from '../engine/host/record-file.ts';
import type { Logger } from '../logger.ts';

/** The paths outside of its root-dir that an agent uses. */
export interface NodePaths {
  podLogsDir: string;
  /** Empty for the root. */
  cgroupRoot: string;
}

/** More than two paths. */
const maxBytes = 64 * 1024;
const fileOf = (rootDir: string): string => join(rootDir, 'state', 'places.json');

/**
 * Records the paths for a `down` after the agent has stopped, and warns if the earlier agent had other paths. Rejects
 * with a file system error.
 */
export async function recordNodePaths(
  rootDir: string,
  { podLogsDir, cgroupRoot }: NodePaths,
  logger: Logger,
): Promise<void> {
  const earlier = await lastNodePaths(rootDir, logger);
  if (earlier && (earlier.podLogsDir !== podLogsDir || earlier.cgroupRoot !== cgroupRoot))
    logger.warn(
      earlier,
      'The paths of logs or cgroups changed; leftovers of earlier pods below the old paths are not removed',
    );
  await writeRecordFile(fileOf(rootDir), JSON.stringify({ podLogsDir, cgroupRoot }), { isDurable: false });
}

/**
 * The paths of the last agent. Returns undefined if they are unknown. A damaged record is logged and renamed. Never
 * rejects.
 */
export function lastNodePaths(rootDir: string, logger: Logger): Promise<NodePaths | undefined> {
  return readRecordFile(fileOf(rootDir), maxBytes, parseNodePaths, logger).catch(() => undefined);
}

function parseNodePaths(bytes: Buffer): NodePaths | undefined {
  const { podLogsDir, cgroupRoot } = Object(JSON.parse(bytes.toString('utf8'))) as Record<keyof NodePaths, unknown>;
  const arePlaces = typeof podLogsDir === 'string' && podLogsDir.startsWith('/') && typeof cgroupRoot === 'string';
  return arePlaces ? { podLogsDir, cgroupRoot } : undefined;
}
