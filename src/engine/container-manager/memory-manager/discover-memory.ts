import { totalmem } from 'node:os';
import { join } from 'node:path';
import { listFolder } from '../../../files/list-folder.ts';
import { readRegularFile } from '../../../files/regular-file.ts';
import type { NUMAMemory } from './machine-memory.ts';

/** Size limit for the sysfs files read here. */
const maxFileBytes = 64 * 1024;

/**
 * Reads the memory of this machine by NUMA node. A kernel without NUMA support counts as one node 0. Rejects if a file
 * cannot be read or has unexpected content. cAdvisor: utils/sysinfo/sysinfo.go GetNodesInfo
 */
export async function discoverMemory(sysDir = '/sys'): Promise<NUMAMemory[]> {
  const nodes = join(sysDir, 'devices/system/node');
  const ids = (await listFolder(nodes))
    .filter((name) => /^node\d+$/.test(name))
    .map((name) => Number(name.slice('node'.length)));
  if (ids.length === 0) {
    return [{ id: 0, bytes: BigInt(totalmem()), hugePages: await hugePagesIn(join(sysDir, 'kernel/mm/hugepages')) }];
  }
  return Promise.all(
    ids
      .sort((a, b) => a - b)
      .map(async (id) => {
        const folder = join(nodes, `node${id}`);
        const [meminfo, hugePages] = await Promise.all([
          textOf(join(folder, 'meminfo')),
          hugePagesIn(join(folder, 'hugepages')),
        ]);
        return { id, bytes: totalBytes(meminfo, id), hugePages };
      }),
  );
}

/** Parses a line such as `Node 0 MemTotal: 16303428 kB`. */
function totalBytes(meminfo: string, id: number): bigint {
  const [, kibibytes] = /^Node \d+ MemTotal:\s+(\d+) kB$/m.exec(meminfo) ?? [];
  if (kibibytes === undefined) throw new Error(`The kernel does not report the memory of NUMA node ${id}`);
  return BigInt(kibibytes) * 1024n;
}

async function hugePagesIn(folder: string): Promise<NUMAMemory['hugePages']> {
  const names = (await listFolder(folder)).filter((name) => /^hugepages-\d+kB$/.test(name));
  const sizes = names.map((name) => Number(/\d+/.exec(name)?.[0])).sort((a, b) => a - b);
  return Promise.all(
    sizes.map(async (kibibytes) => ({
      sizeBytes: BigInt(kibibytes) * 1024n,
      pages: BigInt((await textOf(join(folder, `hugepages-${kibibytes}kB`, 'nr_hugepages'))).trim()),
    })),
  );
}

async function textOf(path: string): Promise<string> {
  return (await readRegularFile(path, maxFileBytes)).toString('utf8');
}
