import { dirname, join } from 'node:path';
import { makeFolder } from '../../files/make-folder.ts';
import type { Logger } from '../../logger.ts';
import { readRecordFile, writeRecordFile } from '../host/record-file.ts';
import type { Allocation } from './allocation.ts';

/** Far more than the Services of any node need. */
const maxFileBytes = 16 * 1024 * 1024;

const servicesFile = (rootDir: string): string => join(rootDir, 'state', 'services.json');

/**
 * Reads the addresses and ports that the last agent allocated, by `serviceKey`. Resolves with undefined if there are
 * none. With `logger`, which only the agent passes, a damaged record is logged and renamed.
 */
export function readAllocations(
  rootDir: string,
  logger?: Logger,
): Promise<ReadonlyMap<string, Allocation> | undefined> {
  return readRecordFile(servicesFile(rootDir), maxFileBytes, parse, logger);
}

/** Writes the record. Once this resolves, it survives a power cut. */
export async function writeAllocations(rootDir: string, allocations: ReadonlyMap<string, Allocation>): Promise<void> {
  const path = servicesFile(rootDir);
  await makeFolder(dirname(path), 0o700);
  await writeRecordFile(path, JSON.stringify({ services: Object.fromEntries(allocations) }), { isDurable: true });
}

function parse(bytes: Buffer): ReadonlyMap<string, Allocation> | undefined {
  const { services } = Object(JSON.parse(bytes.toString('utf8'))) as { services?: Record<string, Allocation> };
  if (typeof services !== 'object') return undefined;
  const entries = Object.entries(services);
  return entries.every(([, allocation]) => isAllocation(allocation)) ? new Map(entries) : undefined;
}

const isAllocation = ({ clusterIPs, nodePorts }: Allocation): boolean =>
  Array.isArray(clusterIPs) &&
  clusterIPs.every((ip) => typeof ip === 'string') &&
  typeof nodePorts === 'object' &&
  Object.values(nodePorts).every(Number.isInteger);
